package rowsync

import (
	"context"
	"database/sql"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
)

// An index that is not unique is followed by its values: P is a range or a list of values, with all rows of each. A sync deletes them all
// and inserts them all, so that both tables have each row equally often.
//
// A range ends between two values, because its bounds are values and it does not contain the upper one.

// mostRows is the number of rows of a list of values that is synced in one transaction, if it has more than one value.
const mostRows = 20_000

// crowded reports whether a list has values with more rows than that together.
func (s *Syncer) crowded(ctx context.Context, session *dbconn.Session, p predicate) (bool, error) {
	if !s.spec.ByValue || len(p.keys) < 2 {
		return false, nil
	}
	var rows int
	err := session.Patiently(ctx, func() error {
		return session.Rows(ctx, p.present(), func(r *sql.Rows) error { return r.Scan(&rows) })
	})
	if _, ended := session.Exec(ctx, "COMMIT"); err == nil {
		err = ended
	}
	return rows > mostRows, err
}

// boundOfValues is Bound for such an index: a value after that of the start.
func boundOfValues(ctx context.Context, session *dbconn.Session, spec *Spec, rest key.Range, rows int) (key.Key, error) {
	bounds, err := boundsBut(ctx, session, spec, rest, rows, 1, "")
	if err != nil || bounds[0] == "" || rest.From == "" {
		return bounds[0], err
	}
	same := bounds[0] == rest.From
	names := spec.Key.Names()
	if !same && !spec.Key.Ordered() { // the server may hold two spellings equal
		both := InKeys(spec.Key, names, bounds) + " AND " + InKeys(spec.Key, names, []key.Key{rest.From})
		found, err := keysAt(ctx, session, spec, both, 0, 1)
		if err != nil {
			return "", err
		}
		same = len(found) > 0
	}
	if !same {
		return bounds[0], nil
	}
	bounds, err = boundsBut(ctx, session, spec, rest, 0, 1, " AND NOT ("+InKeys(spec.Key, names, []key.Key{rest.From})+")")
	return bounds[0], err
}
