package leftovers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Claim is the advisory lock of a source. The server releases it when our connection
// ends, however that comes about.
type Claim struct {
	session *dbconn.Session
	fail    context.CancelCauseFunc
	stop    chan struct{}
	done    chan struct{}
}

// ErrClaimed means that another run works on the table.
var ErrClaimed = errors.New("another run of midstream is working on this table")

// ErrClaimLost means that the connection with the advisory lock of the source broke: another run
// may have begun.
var ErrClaimLost = errors.New("the connection that holds the table's claim is lost")

// The claim lives as long as its client. If the client has been silent for this long, the server
// ends its connection, and releases the lock. That happens after the end of its machine; a client
// that lives is not silent.
const (
	claimTimeout = 60 * time.Second
	claimBeat    = 5 * time.Second
)

// claimWait is how long a run waits for the claim of another one, in seconds: a busy server sees only after a moment that the client of a
// killed run is gone. GET_LOCK takes whole seconds on MySQL.
const claimWait = 2

// ClaimTable takes the advisory lock of a source, or fails with ErrClaimed after claimWait. fail is called with
// ErrClaimLost when the lock is lost later on.
func ClaimTable(ctx context.Context, pool *dbconn.Pool, source schema.Name, fail context.CancelCauseFunc) (*Claim, error) {
	session, err := pool.Session(ctx, fmt.Sprintf("SET SESSION wait_timeout = %d", int(claimTimeout.Seconds())))
	if err != nil {
		return nil, err
	}
	var got sql.NullInt64
	err = session.Rows(ctx, fmt.Sprintf("SELECT GET_LOCK(%s, %d)", schema.Literal(plan.LockName(source)), claimWait),
		func(rows *sql.Rows) error { return rows.Scan(&got) })
	if err == nil && got.Int64 != 1 {
		err = ErrClaimed
	}
	if err != nil {
		session.Close()
		return nil, fmt.Errorf("claim %s: %w", source, err)
	}
	c := &Claim{session: session, fail: fail, stop: make(chan struct{}), done: make(chan struct{})}
	go c.keep()
	return c, nil
}

// Claimed reports whether a run has claimed a source.
func Claimed(ctx context.Context, db *sql.DB, source schema.Name) (is bool, err error) {
	err = db.QueryRowContext(ctx, "SELECT IS_USED_LOCK(?) IS NOT NULL", plan.LockName(source)).Scan(&is)
	if err != nil {
		err = fmt.Errorf("read who works on %s: %w", source, err)
	}
	return is, err
}

// keep uses the connection now and then, and looks whether it is there.
func (c *Claim) keep() {
	defer close(c.done)
	ticker := time.NewTicker(claimBeat)
	defer ticker.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-ticker.C:
			ctx, cancel := context.WithTimeout(context.Background(), 3*claimBeat)
			_, err := c.session.Exec(ctx, "DO 1")
			cancel()
			if err != nil && !dbconn.Contended(err) { // another session's KILL QUERY
				c.fail(fmt.Errorf("%w: %w", ErrClaimLost, err))
				return
			}
		}
	}
}

// Release gives the lock back.
func (c *Claim) Release() {
	close(c.stop)
	<-c.done
	// The server may notice the end of a connection only after the next run has asked. If it
	// is lost already there is nothing to release.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = c.session.Exec(ctx, "DO RELEASE_ALL_LOCKS()") // the session's end releases them too
	c.session.Close()
}
