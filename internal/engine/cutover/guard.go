package cutover

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// The guard keeps B's place in the queue, on MariaDB. A RENAME there first waits for its tables,
// and then asks for the lock that backups take away. If a backup asks for that lock (BACKUP STAGE
// START, FLUSH TABLES WITH READ LOCK), the RENAME releases its tables, waits, and asks for all of
// them again (lock_table_names in sql/sql_base.cc). In that time each session behind it, a queued
// session or not, can write to the old table, and these rows would be lost.
//
// A backup that asks for its lock waits for every session that has a table locked. So a session of
// ours keeps a table of its own locked until B has answered: no backup gets its lock before that. B
// either renames at once, or waits for the backup. Then the run sees it wait, and withdraws it.

// renameGuard is the session, and its table.
type renameGuard struct {
	session *dbconn.Session
	table   schema.Name
}

// openGuard locks the guard's table. It fails with ErrNotGranted if a backup has its lock.
func (a *swapAttempt) openGuard(ctx context.Context) error {
	if !a.one().Tables.RenameYields {
		return nil
	}
	h := fnv.New64a()
	h.Write([]byte(a.one().Tables.Source.String()))
	g := &renameGuard{table: a.one().Tables.Source.Sibling(fmt.Sprintf("midstream_guard_%016x", h.Sum64()))}
	var err error
	if g.session, err = a.one().Pool.Session(ctx, a.shortLived()); err != nil {
		return err
	}
	a.guard = g
	bounded, cancel := context.WithTimeout(ctx, a.budget.Wait)
	defer cancel()
	for _, statement := range []string{
		fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (id INT NOT NULL PRIMARY KEY) COMMENT=%s", g.table.Quoted(), schema.Literal(schema.MarkFor("guard", a.one().Tables.Source))),
		schema.LockTables(g.table),
	} {
		if _, err := g.session.Exec(bounded, statement); err != nil {
			if bounded.Err() != nil && ctx.Err() == nil {
				err = fmt.Errorf("%w: %w", ErrNotGranted, err)
			}
			return fmt.Errorf("guard of the swap: %w", err)
		}
	}
	return nil
}

// releaseGuard lets backups in again.
func (a *swapAttempt) releaseGuard(ctx context.Context) {
	if a.guard != nil {
		_, _ = a.guard.session.Exec(ctx, "UNLOCK TABLES") // otherwise ending the session unlocks
	}
}

// closeGuard ends it. A table that can't be dropped now is found by its mark.
func (a *swapAttempt) closeGuard() {
	if a.guard == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	a.releaseGuard(ctx)
	a.guard.session.Close()
	_ = a.one().Pool.Exec(ctx, "DROP TABLE IF EXISTS "+a.guard.table.Quoted()) // its mark identifies it
}

// longestRename is how long B may take that has been let through, seen or unseen.
const longestRename = 2 * time.Second

// errYielded is the cause with which a swap is withdrawn after its RENAME lost its place in the
// queue.
var errYielded = fmt.Errorf("%w: a backup, or FLUSH TABLES WITH READ LOCK, asks for its lock", ErrDisturbed)

// awaitRename waits for the answer of B's RENAME. It withdraws the RENAME if it has released its
// tables, or if other sessions have come before it (BACKUP LOCK) and stay.
func (a *swapAttempt) awaitRename(ctx, bounded context.Context, renamed *answer, withdraw context.CancelCauseFunc) {
	for end := time.Now().Add(longestRename); a.one().Tables.RenameYields; {
		select {
		case <-renamed.came:
			return
		case <-time.After(time.Millisecond):
		}
		looking, cancel := context.WithDeadline(ctx, end)         // the network may be gone
		state, _ := a.one().Pool.StateOf(looking, a.renamer.ID()) // "" where nobody can tell
		cancel()
		if state == waitingForBackup {
			withdraw(errYielded)
			break
		}
		if bounded.Err() != nil && strings.HasPrefix(state, "Waiting for ") || time.Now().After(end) {
			withdraw(ErrOverrun)
			break
		}
	}
	<-renamed.came
}
