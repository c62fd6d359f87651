package migration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/cutover"
	"midstream/internal/mysql/dbconn"
)

// unseenWait is how long the sessions of an earlier run are waited for that can't be found. The
// server ends those of a swap when they have been silent for two seconds and the time that the
// work under the lock may take; a statement of theirs waits for one second at most.
const unseenWait = 5 * time.Second

// endRun ends what the sessions of an earlier run still do on the server. What they were to do has
// then happened, or never will.
//
// Where they can't be found it is the lock that tells: the RENAME is sent only under the lock of
// the source, so that who can read the source, once the earlier run can't ask for that lock any more,
// knows that no swap is on its way. Other statements that name the shadow are waited for as far as
// they are seen; a run that goes on is always compared.
func (c *cleaner) endRun(ctx context.Context, run string, budget cutover.Budget, note func(string)) error {
	err := c.pool.EndAll(ctx, run)
	if !errors.Is(err, dbconn.ErrUnseen) {
		return err
	}
	wait := unseenWait + budget.Work
	note(fmt.Sprintf("of an earlier run, %v: waiting %s for what they may still do. If its machine is gone, end them by KILL", err, wait))
	if err := sleep(ctx, wait); err != nil {
		return err
	}
	if err := c.pool.AwaitStatements(ctx, c.names().Shadow.Quoted()); err != nil {
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
