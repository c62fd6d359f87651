package migration

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"midstream/internal/dbconn"
	"midstream/internal/plan"
	"midstream/internal/schema"
)

// claimed is the advisory lock of a source. The server releases it when our connection
// ends, however that comes about.
type claimed struct {
	session *dbconn.Session
	stop    chan struct{}
	done    chan struct{}
}

// claim takes the advisory lock of a source, or fails with ErrClaimed.
func claim(ctx context.Context, pool *dbconn.Pool, source schema.Name) (*claimed, error) {
	session, err := pool.Session(ctx)
	if err != nil {
		return nil, err
	}
	var got sql.NullInt64
	err = session.Rows(ctx, fmt.Sprintf("SELECT GET_LOCK(%s, 0)", schema.Literal(plan.LockName(source))),
		func(rows *sql.Rows) error { return rows.Scan(&got) })
	if err == nil && got.Int64 != 1 {
		err = ErrClaimed
	}
	if err != nil {
		session.Close()
		return nil, fmt.Errorf("claim %s: %w", source, err)
	}
	c := &claimed{session: session, stop: make(chan struct{}), done: make(chan struct{})}
	go c.keep()
	return c, nil
}

// keep uses the connection now and then, so that wait_timeout does not end it.
func (c *claimed) keep() {
	defer close(c.done)
	ticker := time.NewTicker(20 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-ticker.C:
			c.session.Exec(context.Background(), "DO 1")
		}
	}
}

func (c *claimed) release() {
	close(c.stop)
	<-c.done
	// The server may notice the end of a connection only after the next run has asked. If it
	// is lost already there is nothing to release.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.session.Exec(ctx, "DO RELEASE_ALL_LOCKS()")
	c.session.Close()
}
