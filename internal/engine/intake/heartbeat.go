package intake

import (
	"context"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/mysql/dbconn"
)

// heartbeatWriter commits heartbeats through a connection of its own. It opens the connection again
// when it is lost.
type heartbeatWriter struct {
	pool    *dbconn.Pool
	store   *checkpoint.Store
	session *dbconn.Session
	wrote   func(number uint64, at time.Time)
}

func (b *heartbeatWriter) close() {
	if b.session != nil {
		b.session.Close()
	}
}

// beatTries is the number of tries of one heartbeat.
const beatTries = 5

func (b *heartbeatWriter) beat(ctx context.Context, n uint64) error {
	var err error
	for try := 0; try < beatTries; try++ {
		if b.session == nil {
			if b.session, err = b.pool.Session(ctx); err != nil {
				b.session = nil
			}
		}
		if b.session != nil {
			if err = b.store.Beat(ctx, b.session, n); err == nil {
				b.wrote(n, time.Now())
				return nil
			}
			if dbconn.ConnectionLost(err) {
				b.session.Close()
				b.session = nil
			}
		}
		if !dbconn.ConnectionLost(err) && !dbconn.Contended(err) {
			return err
		}
		if dbconn.Contended(err) {
			try = 0 // waits for a backup's read lock
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(try+1) * 200 * time.Millisecond):
		}
	}
	return err
}
