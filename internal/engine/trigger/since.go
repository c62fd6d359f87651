package trigger

import (
	"context"
	"errors"
	"time"

	"midstream/internal/engine/key"
	"midstream/internal/engine/lock"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// SinceKind is the word, in its mark, for a log of the changes since a swap, which an undo may read.
const SinceKind = "since"

// KeyOf returns the name and the codec of the key by which the changes of a new table are logged for an undo: the one of a name, or, if
// that is "", its primary key, or its first unique key that can be followed.
func KeyOf(table *schema.Table, wanted string) (name string, codec *key.Codec, has bool) {
	for _, k := range table.Keys {
		if wanted != "" && k.Name != wanted || !k.Unique || !k.Visible || k.Type != "BTREE" {
			continue
		}
		var parts []key.Part
		for _, p := range k.Parts {
			column, there := table.Column(p.Column)
			if !there || p.Expression != "" || p.Prefix != 0 || column.Nullable || column.Generated == schema.Virtual {
				parts = nil
				break
			}
			parts = append(parts, key.Part{Column: column, Descending: p.Descending})
		}
		if len(parts) == 0 {
			continue
		}
		if codec, err := key.NewCodec(parts); err == nil {
			return k.Name, codec, true
		}
	}
	return "", nil, false
}

// Record makes the log of an undo, and the triggers on the shadow that write to it. They are there before the swap, and
// stay on the table in the RENAME: so every write to the new table is in the log (U1), with some of the run's own syncs.
// done is false if a session keeps the shadow from being changed; then Record may be called again.
// REQUIRES: the source of the set is the shadow.
func (s Set) Record(ctx context.Context, pool *dbconn.Pool, budget time.Duration) (done bool, err error) {
	session, err := pool.Session(ctx)
	if err != nil {
		return false, err
	}
	defer session.Close()
	if _, err := schema.LoadOwn(ctx, pool.DB(), s.Log); errors.Is(err, schema.ErrNotFound) {
		err = s.CreateLog(ctx, session)
		if err != nil {
			return false, err
		}
	} else if err != nil {
		return false, err
	}
	err = s.Create(ctx, pool, func(ctx context.Context, request func(context.Context, time.Duration) (lock.Outcome, error)) error {
		for try := 0; try < mostTries; try++ {
			outcome, err := request(ctx, budget)
			if err != nil || outcome.Granted {
				return err
			}
			if err := dbconn.Sleep(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
		return errBusy
	})
	if errors.Is(err, errBusy) {
		return false, nil
	}
	return err == nil, err
}

// mostTries is how often Record asks for the lock of the shadow: only the run's own syncs use it.
const mostTries = 10

var errBusy = errors.New("a session uses the shadow")
