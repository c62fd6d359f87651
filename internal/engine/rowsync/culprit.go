package rowsync

import (
	"context"
	"database/sql"
	"fmt"
	"sort"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// blame adds the row to an error that a value in the row has caused. The server's own message names
// "row 1" of its own statement, or no row.
func (s *Syncer) blame(ctx context.Context, session *dbconn.Session, p predicate, err error) error {
	if !dbconn.ValueRefused(err) {
		return err
	}
	if row := s.culprit(ctx, session, p, dbconn.Number(err)); row != "" {
		return fmt.Errorf("row with key (%s): %w", row, err)
	}
	return err
}

// culprit finds the first row of P that the shadow refuses, or "" if it refuses none any more. It
// tries P by halves and rolls each of them back.
func (s *Syncer) culprit(ctx context.Context, session *dbconn.Session, p predicate, number uint16) (row string) {
	defer func() { _, _ = session.Exec(context.WithoutCancel(ctx), "ROLLBACK") }()
	var rows int
	if session.Rows(ctx, p.present(), func(r *sql.Rows) error { return r.Scan(&rows) }) != nil {
		return ""
	}
	var keys []key.Key
	if len(s.spec.Kept) > 0 { // one statement does not insert all rows
		if session.Rows(ctx, p.keysOf(), func(r *sql.Rows) error {
			k, err := s.spec.ScanKey(r)
			keys = append(keys, k)
			return err
		}) != nil || len(keys) != rows {
			return ""
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
	_ = session.Rows(ctx, p.rowAt(before), func(r *sql.Rows) error { return r.Scan(&row) })
	return row
}

// rowAt returns a query that describes one row of the source in P: the row at that offset from the
// first, in the order that insertion reads them.
func (p predicate) rowAt(offset int) string {
	return fmt.Sprintf("SELECT %s FROM %s FORCE INDEX (%s) WHERE %s LIMIT 1 OFFSET %d", p.row(),
		p.spec.Source.Quoted(), schema.Quote(p.spec.SourceIndex), p.on(p.spec.Key.Names()), offset)
}

// keysOf returns a query for the keys of the source's rows in P.
func (p predicate) keysOf() string {
	return fmt.Sprintf("SELECT %s FROM %s FORCE INDEX (%s) WHERE %s", strings.Join(p.spec.Key.SelectExprs(), ", "),
		p.spec.Source.Quoted(), schema.Quote(p.spec.SourceIndex), p.on(p.spec.Key.Names()))
}

// row is the expression that describes a row by its key.
func (p predicate) row() string {
	return "CONCAT_WS(', ', " + schema.QuoteAll(p.spec.Key.Names()) + ")"
}
