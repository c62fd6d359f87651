package rowsync

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
)

// finding is a row that a key has found. Only the server knows which keys are equal: a collation may hold the row's own key, which may
// be spelled in another way, equal to it.
type finding struct{ by, row key.Key }

// marks is what a query for findings selects behind the row's key: for each key of P, whether it finds the row. It is nothing if no
// other keys are equal. A query under LOCK TABLES may name each table once, so one row is read for all of its keys.
func (p predicate) marks(columns []string) []string {
	if p.spec.Key.Ordered() {
		return nil
	}
	finds := make([]string, len(p.keys))
	for i := range p.keys {
		finds[i] = InKeys(p.spec.Key, columns, p.keys[i:i+1])
	}
	return []string{"CONCAT(" + strings.Join(finds, ", ") + ")"}
}

// findings runs a query for keys of rows that P finds, with marks behind them.
func (p predicate) findings(ctx context.Context, session *dbconn.Session, query string) (found []finding, err error) {
	err = session.Rows(ctx, query, func(rows *sql.Rows) error {
		var marks string
		if p.spec.Key.Ordered() {
			row, err := p.spec.ScanKey(rows)
			found = append(found, finding{row, row})
			return err
		}
		row, err := p.spec.ScanKey(rows, &marks)
		for i := range marks {
			if marks[i] == '1' {
				found = append(found, finding{p.keys[i], row})
			}
		}
		return err
	})
	return found, err
}

// present returns the rows of the source that keys find. locking is "", or Spec.Locking. It takes the keys in parts: each of them is twice
// in the query, and each row is compared with all of its part.
func (s *Spec) present(ctx context.Context, session *dbconn.Session, keys []key.Key, locking string) (found []finding, err error) {
	for part := range slices.Chunk(keys, oneByOneKeys) {
		p := predicate{spec: s, keys: part}
		more, err := p.findings(ctx, session, p.keysOf(p.marks(s.Key.Names())...)+locking)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// there is present for a sync. If no other keys are equal, it takes the keys themselves for those of rows.
func (s *Spec) there(ctx context.Context, session *dbconn.Session, keys []key.Key) ([]finding, error) {
	if !s.Key.Ordered() {
		return s.present(ctx, session, keys, s.Locking)
	}
	found := make([]finding, len(keys))
	for i, k := range keys {
		found[i] = finding{k, k}
	}
	return found, nil
}

// Present returns the keys that the source's rows of these keys have.
func (s *Spec) Present(ctx context.Context, session *dbconn.Session, keys []key.Key) ([]key.Key, error) {
	return s.readKeys(ctx, session, predicate{spec: s, keys: keys}.keysOf())
}

// foundRows are the keys of the rows, each once.
func foundRows(found []finding) []key.Key {
	return unique(found, func(f finding) key.Key { return f.row })
}

// finders are the keys that have found a row, each once.
func finders(found []finding) []key.Key {
	return unique(found, func(f finding) key.Key { return f.by })
}

func unique(found []finding, of func(finding) key.Key) []key.Key {
	keys := make([]key.Key, len(found))
	for i, f := range found {
		keys[i] = of(f)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
