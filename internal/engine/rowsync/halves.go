package rowsync

import (
	"context"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
)

// A sync with a transaction that is too large for the server is made in two halves. No reader sees
// a difference: one sync promises the same about its rows as several do. (The caller still has the
// complete P to itself, law L2.)

// both runs the syncs of two halves, one after the other.
func (s *Syncer) both(half func(i int) (Result, error)) (sum Result, err error) {
	for i := 0; i < 2 && err == nil; i++ {
		var result Result
		result, err = half(i)
		sum.Inserted += result.Inserted
		sum.Deleted += result.Deleted
	}
	return sum, err
}

// keysByHalves syncs the halves of a list of keys.
func keysByHalves(ctx context.Context, s *Syncer, session *dbconn.Session, keys []key.Key) (Result, error) {
	parts := [2][]key.Key{keys[:len(keys)/2], keys[len(keys)/2:]}
	return s.both(func(i int) (Result, error) { return s.Keys(ctx, session, parts[i]) })
}

// Halve finds a bound in the middle of a range; split is false if there is none, or it can't be
// found. It ends the session's transaction.
func Halve(ctx context.Context, session *dbconn.Session, spec *Spec, r key.Range) (halves [2]key.Range, split bool) {
	rows, err := count(ctx, session, spec, InRange(spec.Key, spec.Key.Names(), r))
	if err != nil || rows < 2 {
		return halves, false
	}
	middle, err := Bound(ctx, session, spec, r, rows/2)
	if _, ended := session.Exec(ctx, "COMMIT"); err != nil || ended != nil || middle == "" || middle == r.From {
		return halves, false
	}
	return [2]key.Range{{From: r.From, To: middle}, {From: middle, To: r.To}}, true
}
