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

// The guard of B's place in the queue, on MariaDB. A RENAME there first waits for its tables, and
// then tries to get the lock that backups take away. Where a backup asks for it (BACKUP STAGE
// START, FLUSH TABLES WITH READ LOCK), the RENAME gives its tables back, waits, and asks for all
// anew (lock_table_names in sql/sql_base.cc): whoever stands behind it, a queued session or not, writes to
// the old table meanwhile, and his rows would be lost.
//
// A backup that asks waits for every session that has a table locked. So a session of ours keeps a
// table of its own locked until B has answered: a backup is not granted up to then. B either
// renames at once, or waits for the backup, is seen to do so, and withdrawn.

// renameGuard is the session, and its table.
type renameGuard struct {
	session *dbconn.Session
	table   schema.Name
}

// openGuard locks the guard's table. It fails with ErrNotGranted where a backup has its lock.
func (a *swapAttempt) openGuard(ctx context.Context) error {
	if !a.tables.RenameYields {
		return nil
	}
	h := fnv.New64a()
	h.Write([]byte(a.tables.Source.String()))
	g := &renameGuard{table: a.tables.Source.Sibling(fmt.Sprintf("midstream_guard_%016x", h.Sum64()))}
	var err error
	if g.session, err = a.pool.Session(ctx, a.shortLived()); err != nil {
		return err
	}
	a.guard = g
	bounded, cancel := context.WithTimeout(ctx, a.budget.Wait)
	defer cancel()
	for _, statement := range []string{
		fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (id INT NOT NULL PRIMARY KEY) COMMENT=%s", g.table.Quoted(), schema.Literal(schema.MarkFor("guard", a.tables.Source))),
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
		_, _ = a.guard.session.Exec(ctx, "UNLOCK TABLES") // else the server unlocks as the session ends
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
	_ = a.pool.Exec(ctx, "DROP TABLE IF EXISTS "+a.guard.table.Quoted()) // its mark tells of it
}

// longestRename is how long B may take that has been let through, seen or unseen.
const longestRename = 2 * time.Second

// errYielded is why a swap is withdrawn whose RENAME has given its place in the queue away.
var errYielded = fmt.Errorf("%w: a backup, or FLUSH TABLES WITH READ LOCK, asks for its lock", ErrDisturbed)

// awaitRename waits for the answer of B's RENAME, and withdraws it where it has given its tables
// back, or others have come before it (BACKUP LOCK) and stay.
func (a *swapAttempt) awaitRename(ctx, bounded context.Context, renamed *answer, withdraw context.CancelCauseFunc) {
	for end := time.Now().Add(longestRename); a.tables.RenameYields; {
		select {
		case <-renamed.came:
			return
		case <-time.After(time.Millisecond):
		}
		looking, cancel := context.WithDeadline(ctx, end)   // the network may be gone
		state, _ := a.pool.StateOf(looking, a.renamer.ID()) // "" where nobody can tell
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
