package leftovers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/facts"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// SavedHere reads the state table, once it is sure that no run on another server writes to it.
func (c *Cleaner) SavedHere(ctx context.Context) (*checkpoint.Saved, error) {
	saved, err := c.Saved(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.CheckElsewhere(ctx, saved); err != nil {
		return nil, err
	}
	return c.Saved(ctx) // received changes may have been applied
}

// ErrElsewhere means that an earlier run may be at work on another server, and its changes are
// replicated to this one. To change its tables here would break the replication.
var ErrElsewhere = errors.New("an earlier run of midstream may be at work on another server, whose changes are replicated to this one")

// CheckElsewhere fails with ErrElsewhere if this server is another one than the saved run's, and still
// follows that one, or receives its heartbeats.
func (c *Cleaner) CheckElsewhere(ctx context.Context, saved *checkpoint.Saved) error {
	other, err := CheckFollowing(ctx, c.pool, saved)
	if err != nil || other == "" {
		return err
	}
	if err := dbconn.Sleep(ctx, elsewhereFor); err != nil {
		return err
	}
	now, err := c.Saved(ctx)
	if err == nil && now.Beaten != saved.Beaten {
		err = fmt.Errorf("%w: server_uuid %s; its heartbeats arrive here", ErrElsewhere, other)
	}
	return err
}

// CheckFollowing fails with ErrElsewhere if this server follows that of the saved run. other names that server if it is
// another one.
func CheckFollowing(ctx context.Context, pool *dbconn.Pool, saved *checkpoint.Saved) (other string, err error) {
	other = saved.Checkpoint.ServerUUID
	var uuid string
	if err := pool.DB().QueryRowContext(ctx, "SELECT "+schema.ThisServer).Scan(&uuid); err != nil {
		return "", fmt.Errorf("read server_uuid: %w", err)
	}
	if other == "" || other == uuid {
		return "", nil
	}
	for deadline := time.Now().Add(unappliedPatience); ; {
		following, unapplied, err := replicates(ctx, pool)
		switch {
		case err != nil:
			return "", err
		case following:
			return "", fmt.Errorf("%w: server_uuid %s; if this server has replaced that one, stop its replication", ErrElsewhere, other)
		case unapplied && time.Now().After(deadline):
			return "", fmt.Errorf("%w: server_uuid %s; this server has received transactions that it has not applied yet", ErrElsewhere, other)
		}
		if !unapplied {
			return other, nil
		}
		if err := dbconn.Sleep(ctx, 200*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// unappliedPatience is how long a server is waited for that has received transactions, and not yet
// applied them.
const unappliedPatience = 10 * time.Second

// replicates reports whether this server receives the commits of another one: of that run's server,
// or of a server between the two. It also reports whether this server has not applied all that it
// has received. (A group's members receive from each other as long as they are in it: for them only
// the heartbeats show that.)
func replicates(ctx context.Context, pool *dbconn.Pool) (following, unapplied bool, err error) {
	if following, unapplied, err = facts.Replicates(ctx, pool.DB()); err != nil {
		return false, false, fmt.Errorf("check whether this server is replicated to: %w", err)
	}
	return following, unapplied, nil
}

// elsewhereFor is how long a state table is watched for another server's heartbeats.
const elsewhereFor = time.Second

// unseenWait is how long EndRun waits for the sessions of an earlier run that can't be found. The
// server ends the sessions of a swap when they have been silent for two seconds and the time of the
// work under the lock. A statement of theirs waits for one second at most.
const unseenWait = 5 * time.Second

// EndRun ends the sessions of an earlier run on the server. Afterwards their statements have
// happened, or never will.
//
// If the sessions can't be found, the lock gives the answer. The RENAME is sent only under the lock
// of the source. So if EndRun can read the source, and the earlier run can't ask for that lock any
// more, no swap is on its way. EndRun waits for other statements that name the shadow, as far as it
// sees them. A run that resumes always compares the tables.
func (c *Cleaner) EndRun(ctx context.Context, run string, budget cutover.Budget, note func(string)) error {
	err := c.pool.EndAll(ctx, run)
	if !errors.Is(err, dbconn.ErrUnseen) {
		return err
	}
	wait := unseenWait + budget.Work
	note(fmt.Sprintf("of an earlier run, %v: waiting %s for their statements to end. If its machine is gone, KILL them", err, wait))
	if err := dbconn.Sleep(ctx, wait); err != nil {
		return err
	}
	if err := c.pool.AwaitStatements(ctx, c.Names().Shadow.Quoted()); err != nil {
		return err
	}
	session, err := c.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	return session.Patiently(ctx, func() error {
		return session.Rows(ctx, "SELECT 1 FROM "+c.source.Quoted()+" LIMIT 0", func(*sql.Rows) error { return nil })
	})
}
