package migration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// tables lists the tables of the test's database.
func (b *bench) tables() string {
	return b.value(
		"SELECT GROUP_CONCAT(table_name ORDER BY BINARY table_name) FROM information_schema.tables WHERE table_schema = '" + b.schema + "'",
	)
}

// TestL8_FinishDropsNoStrangersTable: another session took the old name while the run was stopped,
// so the swap took another name. The command that finishes the run drops the table of that other
// name.
func TestL8_FinishDropsNoStrangersTable(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.stopped()
		b.exec("CREATE TABLE "+b.schema+".t_old (precious INT)", "INSERT INTO "+b.schema+".t_old VALUES (1)")
		c := b.child("ADD COLUMN added INT", phaseLine(event.PhaseCleanup), (*child).kill)
		if code, last := c.wait(); code != -1 {
			b.Fatalf("exit code %d: %s", code, last)
		}
		b.child("ADD COLUMN added INT", "", nil, "--drop-old").mustEnd()
		if got := b.tables(); got != "digits,t,t_old" {
			b.Errorf("tables are %s", got)
		}
		if got := b.value("SELECT COUNT(*) FROM " + b.schema + ".t_old"); got != "1" {
			b.Errorf("t_old has %s rows", got)
		}
	})
}

// TestL7_NoSwapIsTakenForOne: a run was killed long before its swap. A missing shadow and a table
// with the old name don't make it a swap.
func TestL7_NoSwapIsTakenForOne(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(2000)
		c := b.child("ADD INDEX byv (v)", phaseLine(event.PhaseCopy), (*child).kill)
		if code, last := c.wait(); code != -1 {
			b.Fatalf("exit code %d: %s", code, last)
		}
		b.exec("DROP TABLE "+b.schema+".t_shadow", "CREATE TABLE "+b.schema+".t_old LIKE "+b.schema+".t")
		b.child("ADD INDEX byv (v)", "", nil, "--drop-old").mustEnd()
		if got := b.tables(); got != "digits,t,t_old" {
			b.Errorf("tables are %s", got)
		}
		if got := b.value(
			"SELECT COUNT(*) FROM information_schema.statistics WHERE index_name = 'byv' AND table_name = 't' AND table_schema = '" + b.schema + "'",
		); got != "1" {
			b.Errorf("the index exists %s times", got)
		}
	})
}

// TestL9_SilentClientFreesTheLock: a client that falls silent while it holds the lock of the
// cut-over, because its machine is gone or asleep, does not delay the application.
func TestL9_SilentClientFreesTheLock(t *testing.T) {
	onEach(t, func(b *bench) {
		b.numbered(100)
		var c *child
		ready := make(chan struct{})
		b.wire(fault.Rule{At: "LOCK TABLES", Call: func() {
			<-ready
			c.cmd.Process.Signal(syscall.SIGSTOP) // the server gets nothing after it
		}})
		c = b.child("ADD COLUMN added INT", "", nil)
		close(ready)
		c.await(phaseLine(event.PhaseCutover))
		time.Sleep(time.Second)
		began := time.Now()
		ctx, cancel := context.WithTimeout(b.ctx(), 20*time.Second)
		defer cancel()
		if _, err := b.db.ExecContext(ctx, "UPDATE "+b.schema+".t SET v = 1 WHERE id = 1"); err != nil {
			b.Errorf("a query waited for %s: %v", time.Since(began), err)
		}
		c.kill()
		c.wait()
		b.address = b.server.Address
		b.child("ADD COLUMN added INT", "", nil).mustEnd()
	})
}

// TestL8_SupersededRunDropsNothing: a run does not remove what another run has taken over.
func TestL8_SupersededRunDropsNothing(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(3000)
		ctx, cancel := context.WithCancelCause(b.ctx())
		b.cfg.Capture.Interval = time.Minute // its heartbeats would find out
		r := b.background(ctx, "ADD COLUMN added INT", onPhase(event.PhaseCopy, func() {
			b.exec("UPDATE " + b.schema + ".t_midstream SET run = 'another'")
			cancel(errors.New("stopped by the test"))
		}))
		<-r.done
		if r.err == nil || strings.Contains(r.err.Error(), "nothing is left") {
			b.Errorf("the error is %v", r.err)
		}
		if got := b.tables(); got != "digits,t,t_midstream,t_shadow" {
			b.Errorf("tables are %s", got)
		}
		b.exec("DROP TABLE " + b.schema + ".t_midstream, " + b.schema + ".t_shadow")
	})
}

// TestL8_ShadowThatNobodyTellsOf: the shadow has lost its mark, as it does shortly before the swap,
// and the state table, which names its owner, can't be read. The run drops nothing, and reports
// what to do.
func TestL8_ShadowThatNobodyTellsOf(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for name, spoil := range map[string]string{
		"another version": "UPDATE %s.t_midstream SET state = REPLACE(state, '\"Version\":2', '\"Version\":1')",
		"empty":           "DELETE FROM %s.t_midstream",
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.numbered(100)
				b.killedAt("RENAME TABLE `"+b.schema+"`", "ADD COLUMN added INT")
				b.exec("DROP TABLE IF EXISTS "+b.schema+".t_old", strings.ReplaceAll(spoil, "%s", b.schema)) // the sentinel
				code, last := b.child("ADD COLUMN added INT", "", nil).wait()
				b.toldOf(last)
				if code != 11 {
					b.Errorf("exit code %d", code)
				}
				_, err := b.migrate(b.ctx(), "ADD COLUMN added INT")
				b.toldOf(fmt.Sprint(err))
				pool, err := b.open(b.ctx())
				if err != nil {
					b.Fatal(err)
				}
				defer pool.Close()
				var untold *leftovers.Untold
				_, err = leftovers.Cleanup(
					b.ctx(), pool, schema.Name{Schema: b.schema, Table: "t"}, false,
					func([]leftovers.Table) bool { return true }, func(string) {},
				)
				if !errors.As(err, &untold) {
					b.Fatalf("error is %v", err)
				}
				b.toldOf(fmt.Sprint(err, "; ", untold.Next()))

				b.exec("DROP TABLE " + b.schema + ".t_shadow")
				b.child("ADD COLUMN added INT", "", nil, "--drop-old").mustEnd()
				b.hasTables("digits,t")
			})
		})
	}
}

// TestL8_StrangersShadow: the shadow of a stopped run is gone, and another session has created a
// table of that name, which is not the one in the state table. The run leaves it alone, and names
// it.
func TestL8_StrangersShadow(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.stopped()
		b.exec("DROP TABLE " + b.schema + ".t_shadow")
		b.stranger("t_shadow")
		code, last := b.child("ADD COLUMN added INT", "", nil).wait()
		if code != 11 || !strings.Contains(last, "it is not Midstream's") || !strings.Contains(last, "or drop it if it is not needed") {
			b.Errorf("exit code %d: %s", code, last)
		}
		b.unharmed("t_shadow")
		b.exec("RENAME TABLE " + b.schema + ".t_shadow TO " + b.schema + ".precious")
		b.child("ADD COLUMN added INT", "", nil, "--drop-old").mustEnd()
		b.hasTables("digits,precious,t")
	})
}

// toldOf fails the test if a message doesn't name the shadow, or if the shadow is gone.
func (b *bench) toldOf(message string) {
	b.Helper()
	for _, text := range []string{"t_shadow has no mark", "t_midstream", "cannot be read", "drop"} {
		if !strings.Contains(message, text) {
			b.Errorf("the message lacks %q: %s", text, message)
		}
	}
	if got := unguarded(b.tables()); got != "digits,t,t_midstream,t_shadow" {
		b.Errorf("the tables are %s", got)
	}
}

// hasTables compares the list of tables.
func (b *bench) hasTables(want string) {
	b.Helper()
	if got := b.tables(); got != want {
		b.Errorf("tables are %s, want %s", got, want)
	}
}
