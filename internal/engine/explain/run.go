package explain

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Mode chooses whether queries are explained, and what a worse plan does.
type Mode string

// The modes.
const (
	Warns Mode = "warn"
	Holds Mode = "hold" // the swap waits for an operator
	Off   Mode = "off"
)

// Tables are the tables of a run.
type Tables struct {
	Source, Shadow schema.Name
	// Ours are names that only statements of runs have.
	Ours []string
	// Mode is the sql_mode that the application's statements were probably written in: the server's.
	Mode string
}

// Run explains the application's queries on the source and on the shadow, and reports which of them would be slower or would fail. It
// fails only if the connection is lost or ctx ends. REQUIRES: the shadow has all its rows, indexes and statistics.
func Run(ctx context.Context, pool *dbconn.Pool, t Tables) (event.Explained, error) {
	result := event.Explained{At: time.Now()}
	samples, cut, why, err := samplesOf(ctx, pool.DB(), t)
	if err != nil || why != "" {
		result.Why = why
		return result, err
	}
	result.Cut = cut
	session, err := pool.Session(ctx, pool.AsTheServer(true)...)
	if err != nil {
		return result, err
	}
	defer session.Close()
	// Later versions have another format, which only the iterators of the hypergraph optimizer need.
	if _, err := session.Exec(ctx, "SET SESSION explain_json_format_version = 1"); err != nil && dbconn.Number(err) != unknownVariable {
		return result, err
	}
	for _, s := range samples {
		if result.Checked == Most {
			break
		}
		moved, err := ddl.Move(s.text, t.Mode, s.database, t.Source, t.Shadow)
		if errors.Is(err, ddl.ErrNoQuery) {
			result.Unread++
			continue
		}
		if err != nil {
			return result, err
		}
		if len(moved.Names) == 0 {
			continue // the name is another one's
		}
		if err := judge(ctx, session, s, moved, t, &result); err != nil {
			return result, err
		}
	}
	result.At = time.Now()
	return result, nil
}

// unknownVariable is the number of the error of SET of a variable that the server does not have.
const unknownVariable = 1193

// broken are the errors of a query that the new table would not take: unknown column, the number of values, unknown index.
var broken = []uint16{1054, 1136, 1176}

// judge explains one query on both tables.
func judge(ctx context.Context, session *dbconn.Session, s sample, moved ddl.Moved, t Tables, result *event.Explained) error {
	if s.database != "" {
		if _, err := session.Exec(ctx, "USE "+schema.Quote(s.database)); dbconn.Number(err) != 0 {
			result.Refused++
			return nil
		} else if err != nil {
			return err
		}
	}
	before, failed, err := explainOn(ctx, session, moved.Here, moved.Names)
	if err != nil {
		return err
	}
	if failed != nil {
		result.Refused++ // on the source, too: a temporary table, or no privilege on another table
		return nil
	}
	names := append([]string{t.Shadow.Table}, moved.Names...)
	after, failed, err := explainOn(ctx, session, moved.There, names)
	if err != nil {
		return err
	}
	how := ""
	switch {
	case failed != nil && slices.Contains(broken, dbconn.Number(failed)):
		how = fmt.Sprintf("fails: %v", failed)
	case failed != nil:
		result.Refused++
		return nil
	default:
		how = worse(before, after)
	}
	result.Checked++
	if how != "" {
		result.Worse = append(result.Worse, event.WorsePlan{Query: s.text, Runs: s.runs, How: how, Fails: failed != nil})
	}
	return nil
}

// explainOn explains a query. failed is the server's error about the query; err is another one.
func explainOn(ctx context.Context, session *dbconn.Session, query string, names []string) (e explained, failed, err error) {
	var text string
	err = session.Rows(ctx, "EXPLAIN FORMAT=JSON "+query, func(rows *sql.Rows) error { return rows.Scan(&text) })
	switch {
	case dbconn.ConnectionLost(err), ctx.Err() != nil:
		return e, nil, err
	case dbconn.Number(err) != 0:
		return e, err, nil
	case err != nil:
		return e, nil, err
	}
	e, err = parsed(text, names)
	return e, nil, err
}
