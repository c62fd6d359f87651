package migration_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/schema"
)

// stopped makes table t and leaves a run on it that was killed while it copied.
func (b *bench) stopped() {
	b.Helper()
	b.numbered(9000)
	c := b.child("ADD COLUMN added INT", phaseLine(event.PhaseCopy), (*child).kill)
	if code, last := c.wait(); code != -1 {
		b.Fatalf("exit code %d: %s", code, last)
	}
	b.unclaimed()
}

// TestL5_WhatCanNotBeGoneOnWithIsBegunAnew: a run that can't be resumed begins again, and reports
// the reason.
func TestL5_WhatCanNotBeGoneOnWithIsBegunAnew(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, c := range []struct{ name, spoil, reason string }{
		{"source", "ALTER TABLE t ADD COLUMN other INT", "the table was altered since"},
		{"shadow", "ALTER TABLE t_shadow ADD COLUMN other INT", "the shadow was altered"},
		{"no shadow", "DROP TABLE t_shadow", "its shadow is gone"},
		{"binlog", "UPDATE t_midstream SET state = JSON_SET(state, '$.GTIDs', '', '$.Position', 'binlog.000000:4') WHERE id = 2", "no longer has its binlog"},
		{"server", "UPDATE t_midstream SET state = JSON_SET(state, '$.ServerUUID', '11111111-2222-3333-4444-555555555555', '$.GTIDs', '') WHERE id = 2", "it ran on the server 11111111"},
		{"version", "UPDATE t_midstream SET state = REPLACE(state, '\"Version\":2', '\"Version\":1') WHERE id = 2", "another version wrote"},
		{"table of another version", "ALTER TABLE t_midstream DROP COLUMN run", "another version wrote"},
		{"nonsense", "UPDATE t_midstream SET state = '{' WHERE id = 3", "another version wrote"},
		{"ranges", `UPDATE t_midstream SET state = JSON_SET(state, '$.Copied', JSON_ARRAY(JSON_OBJECT('From', 'AA==', 'To', NULL), JSON_OBJECT('From', 'AA==', 'To', 'AQ=='))) WHERE id = 2`, "not a key of this table"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.stopped()
				conn := b.conn()
				for _, statement := range []string{"USE " + b.schema, c.spoil} {
					if _, err := conn.ExecContext(b.ctx(), statement); err != nil {
						b.Fatalf("%s: %v", statement, err)
					}
				}
				var notes []string
				b.mustMigrate("ADD COLUMN added INT", func(e event.Event) {
					if n, is := e.(event.Note); is {
						notes = append(notes, n.Text)
					}
				})
				if all := strings.Join(notes, "\n"); !strings.Contains(all, "run starts again") || !strings.Contains(all, c.reason) {
					b.Errorf("want the reason %q; it printed:\n%s", c.reason, all)
				}
				b.equal()
			})
		})
	}
}

// TestUpgradesOfTheState: run, plan (Former) and cleanup refuse what a newer version has left, and
// leave it unchanged, whatever it contains. A state is resumed if it has fields that this version
// does not know, or lacks fields that were added later.
func TestUpgradesOfTheState(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.stopped()
		was := b.value("SELECT state FROM " + b.schema + ".t_midstream WHERE id = 2")
		for _, newer := range []string{fmt.Sprintf(`REPLACE(state, '"Version":%d', '"Version":%d')`, checkpoint.Plain, checkpoint.Version+1), `'{"Version":9,"Phase":{"of":"another kind"}}'`} {
			b.exec("UPDATE " + b.schema + ".t_midstream SET state = " + newer + " WHERE id = 2")
			left := b.value("SELECT GROUP_CONCAT(run, state ORDER BY id) FROM " + b.schema + ".t_midstream")
			pool, err := b.open(b.ctx())
			if err != nil {
				b.Fatal(err)
			}
			_, finish := leftovers.Finish(b.ctx(), pool, schema.Name{Schema: b.schema, Table: "t"}, leftovers.Ending{}, func(string) {})
			_, cleanup := leftovers.Cleanup(
				b.ctx(), pool, schema.Name{Schema: b.schema, Table: "t"}, true,
				func([]leftovers.Table) bool { return true }, func(string) {},
			)
			pool.Close()
			_, run := b.migrate(b.ctx(), "ADD COLUMN added INT")
			for of, err := range map[string]error{"finish": finish, "cleanup": cleanup, "run": run} {
				if of != "finish" && !errors.Is(err, checkpoint.ErrNewer) || err != nil && !errors.Is(err, checkpoint.ErrNewer) {
					b.Errorf("%s: error is %v", of, err)
				}
			}
			if text := fmt.Sprint(
				run,
			); !strings.Contains(
				text,
				"and the earlier run's work is unchanged. Resume or clean up with the version of midstream that wrote it",
			) {
				b.Error(text)
			}
			if now := b.value("SELECT GROUP_CONCAT(run, state ORDER BY id) FROM " + b.schema + ".t_midstream"); now != left {
				b.Errorf("the state was %s, and is %s", left, now)
			}
			b.hasTables("digits,t,t_midstream,t_shadow")
		}
		b.exec(
			"UPDATE "+b.schema+".t_midstream SET state = "+schema.Literal(was)+" WHERE id = 2",
			"UPDATE "+b.schema+".t_midstream SET state = JSON_REMOVE(JSON_SET(state, '$.Later', JSON_OBJECT('x', 1)), '$.Kept', '$.Purpose', '$.Taken') WHERE id IN (2, 3)",
		)
		if result := b.mustMigrate("ADD COLUMN added INT"); !result.Resumed {
			b.Error("the run did not resume")
		}
		b.equal()
	})
}

// TestL9_AnotherAlterIsRefused: a command that asks for another ALTER does not discard an
// operator's days of work.
func TestL9_AnotherAlterIsRefused(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.stopped()
		_, err := b.migrate(b.ctx(), "ADD COLUMN another INT")
		if !errors.Is(err, failure.ErrOtherAlter) || !strings.Contains(err.Error(), "ADD COLUMN added INT") ||
			!strings.Contains(err.Error(), "midstream cleanup") {
			b.Errorf("error is %v", err)
		}
		if result := b.mustMigrate("ADD COLUMN added INT"); !result.Resumed {
			b.Error("the first ALTER was not resumed")
		}
		b.equal()
	})
}

// TestL9_AnotherConditionOrExpressionIsNamed: a command with the same ALTER, and with another condition or expression, is refused, and
// the message has both.
func TestL9_AnotherConditionOrExpressionIsNamed(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.stopped()
		b.filter, b.set = "id > 3", plan.Settings{"added": "id + 1", "v": "v"}
		_, err := b.migrate(b.ctx(), "ADD COLUMN added INT")
		if !errors.Is(err, failure.ErrOtherAlter) || !strings.Contains(err.Error(),
			`it had none of --keep, --set and --into, and this command has --keep "id > 3" --set "added=id + 1" --set "v=v"`) {
			b.Errorf("error is %v", err)
		}
		b.filter, b.set = "", nil
		if result := b.mustMigrate("ADD COLUMN added INT"); !result.Resumed {
			b.Error("the run without them was not resumed")
		}
		b.equal()
	})
}

// TestL9_LostNetworkKeepsTheWork: the copied rows stay, the message reports that, and the same
// command resumes.
func TestL9_LostNetworkKeepsTheWork(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		l := b.ledger(ledger.Int(), 20_000, ledger.Options{Rate: 300})
		b.start(l)
		b.cfg.RowCopy.MaxRows, b.cfg.Checkpoint = 500, 20*time.Millisecond
		w := b.wire(fault.Rule{})
		var chunks atomic.Int32
		_, err := b.migrate(b.ctx(), alter, func(e event.Event) {
			if _, is := e.(event.ChunkCopied); is && chunks.Add(1) == 20 {
				go w.Close()
			}
		})
		var failed *failure.Failure
		if !errors.As(err, &failed) || !failed.Kept || !strings.Contains(failed.Next, "same command again to resume") {
			b.Fatalf("error is %v", err)
		}
		b.address = b.server.Address
		if result := b.mustMigrate(alter); !result.Resumed {
			b.Error("the run did not resume")
		}
		b.mustMatchLedger(l)
	})
}

// TestL9_RunGoesOnByItself: a broken network costs a run only time.
func TestL9_RunGoesOnByItself(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		l := b.ledger(ledger.Int(), 8000, ledger.Options{Rate: 300})
		b.start(l)
		w := b.wire(fault.Rule{})
		for n, phase := range []event.Phase{event.PhaseCopy, event.PhaseVerify, event.PhaseCutover} {
			b.child(fmt.Sprintf("ADD COLUMN added%d INT", n), phaseLine(phase), func(*child) {
				for range 3 {
					w.HangUp()
					time.Sleep(100 * time.Millisecond)
				}
			}, "--drop-old", "--chunk-time=20ms").mustEnd()
		}
		b.mustMatchLedger(l)
	})
}

// TestL9_LostClaimEndsTheRun: a run that has lost the lock against other runs stops, and does not
// drop what another run may have taken over.
func TestL9_LostClaimEndsTheRun(t *testing.T) {
	onEach(t, func(b *bench) {
		b.numbered(3000)
		r, release := b.heldAt(999)
		b.exec(
			"KILL " + b.value(
				"SELECT IS_USED_LOCK("+b.value("SELECT CONCAT('''', object_name, '''') FROM performance_schema.metadata_locks"+
					" WHERE object_type = 'USER LEVEL LOCK' AND object_name LIKE 'midstream%'")+")",
			),
		)
		<-r.done
		release()
		if !errors.Is(r.err, leftovers.ErrClaimLost) || !strings.Contains(r.err.Error(), "are kept") {
			b.Errorf("error is %v", r.err)
		}
		if result := b.mustMigrate("ADD COLUMN added INT"); !result.Resumed {
			b.Error("the run did not resume")
		}
		b.equal()
	})
}

// TestL5_ServerCrash: the server is killed, or shut down, while rows are copied and written, and
// comes back.
func TestL5_ServerCrash(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, version := range inTurn(t, versions) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Own(t, version, sandbox.Options{Durable: true})
			for _, how := range []string{"crash", "shutdown"} {
				t.Run(how, func(t *testing.T) { crashed(t, version, server, how) })
			}
		})
	}
}

func crashed(t *testing.T, version string, server *mysqltest.Instance, how string) {
	b := on(t, version, server)
	b.cfg.RowCopy.MaxRows, b.cfg.Checkpoint = 200, 20*time.Millisecond
	b.numbered(9999)
	writer := b.writer(b.db)
	_, err := b.migrate(b.ctx(), "ADD COLUMN added INT", onPhase(event.PhaseCopy, func() {
		time.Sleep(300 * time.Millisecond)
		if how == "shutdown" {
			b.exec("SHUTDOWN")
		}
		if err := server.Sandbox.Restart(b.ctx()); err != nil {
			b.Error(err)
		}
	}))
	var failed *failure.Failure
	if !errors.As(err, &failed) || !failed.Kept {
		b.Fatalf("error is %v", err)
	}
	if result := b.mustMigrate("ADD COLUMN added INT", onPhase(event.PhaseCatchUp, writer)); !result.Resumed {
		b.Error("the run did not resume")
	}
	b.equal()

	// A process resumes by itself.
	c := b.child("ADD COLUMN more INT", phaseLine(event.PhaseCopy), func(*child) {
		if err := server.Sandbox.Restart(b.ctx()); err != nil {
			b.Error(err)
		}
	})
	c.mustEnd()
	if !c.heard("resuming an earlier run") {
		b.Error("it did not report that it resumes after the restart of the server")
	}
}

// writer changes rows of table t until it is stopped, whatever happens to the server.
func (b *bench) writer(db *sql.DB) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			var keys []string // ten rows, without a look at the others
			for n, first := 0, rand.IntN(1000); n < 10; n++ {
				keys = append(keys, strconv.Itoa(first+n*1000))
			}
			if _, err := db.ExecContext(ctx, "UPDATE "+b.schema+".t SET v = v + 1 WHERE id IN ("+strings.Join(keys, ", ")+")"); err != nil {
				time.Sleep(10 * time.Millisecond)
			}
			rest(0)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
