package migration_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/planning"
)

// TestU4_AnAbortDoesNotWaitForTheLockOfAnother: an undo follows the table, and another session has the lock of a row that the undo is
// to write. The abort gives the row back after a moment; it waited as long as the lock was held. Nothing is lost: the next undo
// takes the row over.
func TestU4_AnAbortDoesNotWaitForTheLockOfAnother(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, v INT)", "INSERT INTO "+b.schema+".t VALUES (1, 1), (2, 2)")
		b.cfg.Undo = time.Hour
		b.Cleanup(func() { b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_undo") })
		b.mustMigrate("ADD COLUMN added INT")
		b.settings.When.Hold = true
		ctx, abort := context.WithCancelCause(b.ctx())
		defer abort(nil)
		held, done := make(chan struct{}), make(chan error, 1)
		var once sync.Once
		go func() {
			_, err := b.undo(ctx, planning.Undo{}, func(e event.Event) {
				if entered(event.PhaseHold)(e) {
					once.Do(func() { close(held) })
				}
			})
			done <- err
		}()
		select {
		case <-held:
		case err := <-done:
			b.Fatalf("the undo ended before it was held: %v", err)
		}
		other, err := b.conn().BeginTx(b.ctx(), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer other.Rollback()
		if _, err := other.ExecContext(b.ctx(), "SELECT * FROM "+b.schema+".t_old FOR UPDATE"); err != nil {
			b.Fatal(err)
		}
		b.exec("UPDATE " + b.schema + ".t SET v = 3 WHERE id = 1")
		// innodb_trx cannot be read while a statement of any session has an emoji (3854).
		const waiting = "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_info LIKE '%%`%s`.`t_old`%%' AND processlist_time >= 1 AND processlist_id <> CONNECTION_ID()"
		waits := func() (n int) {
			_ = b.db.QueryRowContext(b.ctx(), fmt.Sprintf(waiting, b.schema)).Scan(&n)
			return n
		}
		for late := time.Now().Add(time.Minute); waits() == 0; time.Sleep(200 * time.Millisecond) {
			if time.Now().After(late) {
				b.Fatal("the undo does not wait for the lock of the row")
			}
		}
		cause := errors.New("aborted")
		began := time.Now()
		abort(cause)
		select {
		case err := <-done:
			if !errors.Is(err, cause) {
				b.Errorf("the undo ends with %v", err)
			}
			b.Logf("aborted in %s", time.Since(began))
		case <-time.After(10 * time.Second):
			b.Fatal("the abort waits for the lock of another session")
		}
		if err := other.Rollback(); err != nil {
			b.Fatal(err)
		}
		b.settings.When.Hold = false
		b.mustUndo(planning.Undo{})
		if got := b.value("SELECT GROUP_CONCAT(v ORDER BY id) FROM " + b.schema + ".t"); got != "3,2" {
			b.Errorf("the rows are %s", got)
		}
	})
}
