package soak

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Blind returns why the server does not show which statements run; "" if it does.
func Blind(ctx context.Context, db *sql.DB) (string, error) {
	var on bool
	var consumers, instruments int
	err := db.QueryRowContext(ctx, "SELECT @@GLOBAL.performance_schema").Scan(&on)
	if err == nil && !on {
		return "performance_schema is off", nil
	}
	if err == nil {
		err = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE enabled = 'YES'"+
			" AND name IN ('statements_digest', 'thread_instrumentation', 'global_instrumentation')").Scan(&consumers)
	}
	if err == nil {
		err = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE enabled = 'YES'"+
			" AND name IN ('statement/sql/select', 'statement/sql/insert', 'statement/sql/update', 'statement/sql/delete')").Scan(&instruments)
	}
	if err == nil {
		_, err = readStatistics(ctx, db)
	}
	switch {
	case dbconn.Denied(err):
		return "the account may not read performance_schema", nil
	case err != nil:
		return "", fmt.Errorf("read what performance_schema records: %w", err)
	case consumers < 3:
		return "performance_schema does not count statements (setup_consumers: statements_digest, thread_instrumentation, global_instrumentation)", nil
	case instruments < 4:
		return "performance_schema does not count all statements (setup_instruments: statement/sql/%)", nil
	}
	return "", nil
}

// statistics are what the server has counted.
type statistics struct {
	server     string
	now        time.Time
	started    int64
	statements int64
	lost       time.Time // when it last had no room for a digest
	limit      int       // the size of its longest digest
	whole      bool      // it shows times in seconds
}

func readStatistics(ctx context.Context, db *sql.DB) (s statistics, err error) {
	var now, lost float64
	var name string
	var uptime int64
	err = db.QueryRowContext(ctx, "SELECT "+schema.ThisServer+", UNIX_TIMESTAMP(NOW(6)), COALESCE(SUM(count_star), 0),"+
		" COALESCE(MAX(IF(digest IS NULL, UNIX_TIMESTAMP(last_seen), 0)), 0), LEAST(@@GLOBAL.max_digest_length, @@GLOBAL.performance_schema_max_digest_length),"+
		" @@GLOBAL.version LIKE '%MariaDB%' FROM performance_schema.events_statements_summary_by_digest").
		Scan(&s.server, &now, &s.statements, &lost, &s.limit, &s.whole)
	if err == nil {
		err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Uptime'").Scan(&name, &uptime)
	}
	s.now, s.lost = moment(now), moment(lost)
	s.started = s.now.Unix() - uptime
	return s, err
}

// moment is a time by UNIX_TIMESTAMP.
func moment(seconds float64) time.Time {
	if seconds <= 0 {
		return time.Time{}
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(math.Round(part*1e6))*1000).UTC()
}

// read returns the statements that ran since a time and may name what is dropped.
func (d Drop) read(ctx context.Context, db *sql.DB, since time.Time, limit int) (all []statement, err error) {
	from := strconv.FormatFloat(float64(since.UnixMicro())/1e6, 'f', 6, 64)
	rows, err := db.QueryContext(ctx, "SELECT COALESCE(schema_name, ''), digest, digest_text, count_star, sum_errors, UNIX_TIMESTAMP(first_seen), UNIX_TIMESTAMP(last_seen)"+
		" FROM performance_schema.events_statements_summary_by_digest WHERE digest IS NOT NULL AND last_seen >= FROM_UNIXTIME("+from+")"+
		" AND (LOCATE(LOWER(?), LOWER(digest_text)) > 0 OR LENGTH(digest_text) >= ?)", d.Table.Table, limit/2)
	if err != nil {
		return nil, fmt.Errorf("read the application's statements: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s statement
		var text sql.NullString
		var first, last float64
		if err := rows.Scan(&s.Database, &s.Digest, &text, &s.Runs, &s.errors, &first, &last); err != nil {
			return nil, fmt.Errorf("read the application's statements: %w", err)
		}
		s.Text, s.First, s.Last = text.String, moment(first), moment(last)
		all = append(all, s)
	}
	return all, rows.Err()
}

// prepared returns the prepared statements of all sessions that may name what is dropped, with how often each was executed. A server
// without such a table has none.
func (d Drop) prepared(ctx context.Context, db *sql.DB) (all []statement, err error) {
	rows, err := db.QueryContext(ctx, "SELECT CONCAT(p.owner_thread_id, '/', p.statement_id), p.sql_text, p.count_execute, COALESCE(CONCAT(t.processlist_user, '@', t.processlist_host), '')"+
		" FROM performance_schema.prepared_statements_instances p LEFT JOIN performance_schema.threads t ON t.thread_id = p.owner_thread_id"+
		" WHERE LOCATE(LOWER(?), LOWER(p.sql_text)) > 0", d.Table.Table)
	if dbconn.NoSuchTable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the prepared statements: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		s := statement{NamedBy: checkpoint.NamedBy{Database: d.Table.Schema}}
		if err := rows.Scan(&s.Digest, &s.Text, &s.Runs, &s.User); err != nil {
			return nil, fmt.Errorf("read the prepared statements: %w", err)
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// userOf returns who has run a statement, if a session still has it in its history; "" if none has.
func userOf(ctx context.Context, db *sql.DB, digest string) (user string) {
	for _, table := range []string{"events_statements_current", "events_statements_history"} {
		err := db.QueryRowContext(ctx, "SELECT CONCAT(t.processlist_user, '@', t.processlist_host) FROM performance_schema."+table+
			" e JOIN performance_schema.threads t ON t.thread_id = e.thread_id WHERE e.digest = ? AND t.processlist_user IS NOT NULL LIMIT 1", digest).Scan(&user)
		if err == nil {
			return user
		}
	}
	return ""
}

// Failed returns how many errors INSERTs without a list of columns have had, by their digests.
func (d Drop) Failed(ctx context.Context, db *sql.DB) (map[string]int64, error) {
	all, err := d.read(ctx, db, time.Unix(0, 0), math.MaxInt32)
	failed := map[string]int64{}
	for _, s := range all {
		if s.errors > 0 {
			failed[s.Digest] = s.errors
		}
	}
	return failed, err
}

// Before returns the statements of the last days that name what is dropped: they would hold the drop if they run again.
func (d Drop) Before(ctx context.Context, db *sql.DB, days int) (named []checkpoint.NamedBy, err error) {
	now, err := readStatistics(ctx, db)
	if err != nil {
		return nil, err
	}
	all, err := d.read(ctx, db, now.now.AddDate(0, 0, -days), now.limit)
	for _, s := range all {
		s.errors = 1 // it would have
		if how, _ := d.names(s, now.limit); how != "" {
			s.How = how
			named = append(named, s.NamedBy)
		}
	}
	return named, err
}
