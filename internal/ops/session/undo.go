package session

import (
	"context"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Tending is what is done about an undo that is not to be carried out.
type Tending struct {
	List, End bool
	Extend    time.Duration
}

// Tend ends the undo of a table, or keeps it open for longer, or does neither. It returns what can be undone then: of the
// table, or of all if that is nil.
func (t Tending) Tend(ctx context.Context, pool *dbconn.Pool, only *schema.Name) ([]leftovers.Undoable, error) {
	var err error
	switch {
	case t.End:
		_, err = leftovers.EndUndo(ctx, pool, *only)
	case t.Extend > 0:
		_, err = leftovers.ExtendUndo(ctx, pool, *only, t.Extend)
	}
	if err != nil {
		return nil, err
	}
	return leftovers.Undoables(ctx, pool, only)
}
