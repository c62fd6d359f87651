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
	return c.Saved(ctx) // what had been received may have been applied meanwhile
}

// ErrElsewhere says that an earlier run may be at work on another server, whose changes are
// replicated to this one: what is done here to its tables would break the replication.
var ErrElsewhere = errors.New("an earlier run of midstream may be at work on another server, whose changes are replicated to this one")

// CheckElsewhere fails with ErrElsewhere if this server is another one than the saved run's, and still
// follows that one, or receives its heartbeats.
func (c *Cleaner) CheckElsewhere(ctx context.Context, saved *checkpoint.Saved) error {
	other := saved.Checkpoint.ServerUUID
	var uuid string
	if err := c.pool.DB().QueryRowContext(ctx, "SELECT "+schema.ThisServer).Scan(&uuid); err != nil {
		return fmt.Errorf("read server_uuid: %w", err)
	}
	if other == "" || other == uuid {
		return nil
	}
	for deadline := time.Now().Add(unappliedPatience); ; {
		following, unapplied, err := c.replicates(ctx)
		switch {
		case err != nil:
			return err
		case following:
			return fmt.Errorf("%w: server_uuid %s; where this server has taken that one's place, end its replication", ErrElsewhere, other)
		case unapplied && time.Now().After(deadline):
			return fmt.Errorf("%w: server_uuid %s; this server has received transactions that it has not applied yet", ErrElsewhere, other)
		}
		if !unapplied {
			break
		}
		if err := dbconn.Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
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

// unappliedPatience is how long a server is waited for that has received transactions, and not yet
// applied them.
const unappliedPatience = 10 * time.Second

// replicates says whether this server receives what another one commits, be it that run's or one
// between the two, and whether it has received what it has not applied. (A group's members
// receive from each other as long as they are in it: of them only the heartbeats tell.)
func (c *Cleaner) replicates(ctx context.Context) (following, unapplied bool, err error) {
	if following, unapplied, err = facts.Replicates(ctx, c.pool.DB()); err != nil {
		return false, false, fmt.Errorf("look whether this server is replicated to: %w", err)
	}
	return following, unapplied, nil
}

// elsewhereFor is how long a state table is watched for another server's heartbeats.
const elsewhereFor = time.Second

// unseenWait is how long the sessions of an earlier run are waited for that can't be found. The
// server ends those of a swap when they have been silent for two seconds and the time that the
// work under the lock may take; a statement of theirs waits for one second at most.
const unseenWait = 5 * time.Second

// EndRun ends what the sessions of an earlier run still do on the server. What they were to do has
// then happened, or never will.
//
// Where they can't be found it is the lock that tells: the RENAME is sent only under the lock of
// the source, so that who can read the source, once the earlier run can't ask for that lock any more,
// knows that no swap is on its way. Other statements that name the shadow are waited for as far as
// they are seen; a run that goes on is always compared.
func (c *Cleaner) EndRun(ctx context.Context, run string, budget cutover.Budget, note func(string)) error {
	err := c.pool.EndAll(ctx, run)
	if !errors.Is(err, dbconn.ErrUnseen) {
		return err
	}
	wait := unseenWait + budget.Work
	note(fmt.Sprintf("of an earlier run, %v: waiting %s for what they may still do. If its machine is gone, end them by KILL", err, wait))
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
