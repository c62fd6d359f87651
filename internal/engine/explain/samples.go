package explain

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Most is how many kinds of queries are looked at: those that took the most time.
const Most = 50

// read is how many kinds are read from the server to find so many that name the table.
const read = 1000

// sample is a query of the application.
type sample struct {
	database string // its default database; "" for none
	text     string
	runs     int64
}

// samplesOf returns the queries that name the source, and how many of their texts are cut. why is not "" if the server shows none.
func samplesOf(ctx context.Context, db *sql.DB, t Tables) (list []sample, cut int, why string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT COALESCE(schema_name, ''), query_sample_text, count_star, LENGTH(query_sample_text) >="+
		" @@GLOBAL.performance_schema_max_sql_text_length FROM performance_schema.events_statements_summary_by_digest"+
		" WHERE LOCATE(LOWER(?), LOWER(query_sample_text)) > 0 AND last_seen > NOW() - INTERVAL 7 DAY ORDER BY sum_timer_wait DESC LIMIT ?", t.Source.Table, read)
	switch {
	case dbconn.NoSuchColumn(err): // QUERY_SAMPLE_TEXT
		return nil, 0, "the server keeps no texts of statements (MySQL 8.0 and later do)", nil
	case dbconn.Denied(err):
		return nil, 0, "the account may not read performance_schema", nil
	case err != nil:
		return nil, 0, "", fmt.Errorf("read the application's queries: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s sample
		var isCut bool
		if err := rows.Scan(&s.database, &s.text, &s.runs, &isCut); err != nil {
			return nil, 0, "", fmt.Errorf("read the application's queries: %w", err)
		}
		switch {
		case isOurs(s.text, t.Source, t.Ours), !ddl.MayQuery(s.text, t.Mode, s.database, t.Source):
		case isCut:
			cut++
		default:
			list = append(list, s)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, 0, "", fmt.Errorf("read the application's queries: %w", err)
	}
	return list, cut, "", nil
}

// isOurs reports whether a query is a run's own: it names one of the run's tables, or reads the table by a forced index with the table's
// complete name, as runs do.
func isOurs(text string, table schema.Name, ours []string) bool {
	return strings.Contains(text, table.Quoted()+" FORCE INDEX (") ||
		slices.ContainsFunc(ours, func(name string) bool { return strings.Contains(text, name) })
}
