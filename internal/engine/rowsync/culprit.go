package rowsync

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// ErrMerges means that the key of a row may become equal to another one (Column.Apart).
var ErrMerges = errors.New("its value may become equal to another one")

// ErrRefused means that the shadow refuses a row of the source because of its values.
var ErrRefused = errors.New("the altered table refuses a row")

// refusal is such an error of the server's. It is an ErrRefused.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

func (r *refusal) Is(target error) bool { return target == ErrRefused }

// blame adds the row to an error that a value in the row has caused, and the reason if its key may become equal to
// another one. The server's own message names "row 1" of its own statement, or no row.
func (s *Syncer) blame(ctx context.Context, session *dbconn.Session, p predicate, err error) error {
	if !dbconn.ValueRefused(err) {
		return err
	}
	defer func() { _, _ = session.Exec(context.WithoutCancel(ctx), "ROLLBACK") }()
	for _, c := range s.spec.Columns {
		if c.Apart == "" {
			continue
		}
		if row, merges := s.describe(ctx, session, p.failing(c.Apart)); merges {
			return &refusal{fmt.Errorf("row with key (%s): column %s, the key that the run follows: %w: %w", row, c.Shadow, ErrMerges, err)}
		}
	}
	if row, found := s.culprit(ctx, session, p, dbconn.Number(err)); found {
		err = fmt.Errorf("row with key (%s): %w", row, err)
	}
	return &refusal{err}
}

// describe runs a query that describes one row by its key. The text of a key may be empty.
func (s *Syncer) describe(ctx context.Context, session *dbconn.Session, query string) (row string, found bool) {
	err := session.Rows(ctx, query, func(r *sql.Rows) error {
		found = true
		return r.Scan(&row)
	})
	return row, found && err == nil
}

// culprit finds the first row of P that the shadow refuses. found is false if it refuses none any more. It
// tries P by halves and rolls each of them back.
func (s *Syncer) culprit(ctx context.Context, session *dbconn.Session, p predicate, number uint16) (row string, found bool) {
	var rows int
	if session.Rows(ctx, p.present(), func(r *sql.Rows) error { return r.Scan(&rows) }) != nil {
		return "", false
	}
	var keys []key.Key
	if len(s.spec.Kept) > 0 { // one statement does not insert all rows
		var err error
		if keys, err = s.spec.readKeys(ctx, session, p.keysOf()); err != nil || len(keys) != rows {
			return "", false
		}
		p = predicate{spec: s.spec}
	}
	before := sort.Search(rows, func(n int) bool {
		if keys == nil {
			p.first = n + 1
		} else {
			p.keys = keys[:n+1]
		}
		_, err := s.replace(ctx, session, p)
		_, rollback := session.Exec(ctx, "ROLLBACK")
		return dbconn.Number(err) == number || rollback != nil
	})
	if keys != nil && before < rows {
		p.keys, before = keys[before:before+1], 0
	}
	return s.describe(ctx, session, p.rowAt(before))
}

// failing returns a query that describes a row of the source in P that does not meet a condition.
func (p predicate) failing(condition string) string {
	return fmt.Sprintf("SELECT %s FROM %s FORCE INDEX (%s) WHERE (%s) AND NOT (%s) LIMIT 1", p.row(),
		p.spec.Source.Quoted(), schema.Quote(p.spec.SourceIndex), p.ofSource(), condition)
}

// rowAt returns a query that describes one row of the source in P: the row at that offset from the
// first, in the order that insertion reads them.
func (p predicate) rowAt(offset int) string {
	return fmt.Sprintf("SELECT %s FROM %s FORCE INDEX (%s) WHERE %s LIMIT 1 OFFSET %d", p.row(),
		p.spec.Source.Quoted(), schema.Quote(p.spec.SourceIndex), p.ofSource(), offset)
}

// keysOf returns a query for the keys of the source's rows in P, and for more of each row.
func (p predicate) keysOf(more ...string) string {
	return fmt.Sprintf("SELECT %s FROM %s FORCE INDEX (%s) WHERE %s", strings.Join(slices.Concat(p.spec.Key.SelectExprs(), more), ", "),
		p.spec.Source.Quoted(), schema.Quote(p.spec.SourceIndex), p.ofSource())
}

// row is the expression that describes a row by its key.
func (p predicate) row() string {
	return "CONCAT_WS(', ', " + schema.QuoteAll(p.spec.Key.Names()) + ")"
}
