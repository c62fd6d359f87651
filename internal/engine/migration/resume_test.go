package migration_test

import (
	"errors"
	"flag"
	"fmt"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/schema"
)

// kills is the number of random moments; make soak has more.
var kills = flag.Int("kills", 6, "random moments at which a run is killed")

// killed runs an ALTER of the ledger's table, and again after each kill, until it ends by itself.
func (b *bench) killed(clauses string, kill func(n int, c *child) bool, flags ...string) {
	b.Helper()
	for n := 0; ; n++ {
		c := b.child(clauses, "", nil, flags...)
		if !kill(n, c) {
			c.mustEnd()
			return
		}
		if code, last := c.wait(); code == 0 {
			return // it was faster
		} else if code != -1 {
			b.Fatalf("exit code %d: %s", code, last)
		}
		if b.complete(clauses) {
			return
		}
		c.log("an earlier run")
	}
}

// TestL5_KilledInEveryPhase: after kill -9 in any phase the same command resumes, and nothing is
// lost.
func TestL5_KilledInEveryPhase(t *testing.T) {
	sideBySide(t)
	phases := halfInTurn(t, []event.Phase{event.PhaseCheck, event.PhaseShadow, event.PhaseStart, event.PhaseCopy, event.PhaseIndex,
		event.PhaseCatchUp, event.PhaseVerify, event.PhaseCutover, event.PhaseCleanup})
	onTwo(t, func(b *bench) {
		const resumed = "resuming an earlier run"
		told := map[event.Phase]string{
			event.PhaseCheck:   "",
			event.PhaseShadow:  "",
			event.PhaseStart:   "an earlier run", // whether or not it can be resumed
			event.PhaseCopy:    resumed,
			event.PhaseIndex:   resumed,
			event.PhaseCatchUp: resumed,
			event.PhaseVerify:  resumed,
			event.PhaseCutover: resumed,
			event.PhaseCleanup: "stopped after its swap",
		}
		l := b.ledger(ledger.Int(), 6000, ledger.Options{Rate: 300})
		b.start(l)
		for n, phase := range phases {
			clauses := fmt.Sprintf("ADD COLUMN added%d VARCHAR(40) NOT NULL DEFAULT 'x', ADD INDEX (added%[1]d)", n)
			c := b.child(clauses, phaseLine(phase), (*child).kill, "--chunk-time=20ms", "--checkpoint=50ms", "--defer-indexes=yes")
			if code, last := c.wait(); code != -1 {
				b.Fatalf("in phase %s: exit code %d: %s", phase, code, last)
			}
			again := b.child(clauses, "", nil, "--drop-old")
			again.mustEnd()
			if want := told[phase]; !again.heard(want) {
				b.Errorf("killed in phase %s the next run did not print %q", phase, want)
			}
		}
		b.mustMatchLedger(l)
		if got := b.value(
			"SELECT COUNT(*) FROM information_schema.columns WHERE table_name = 't' AND column_name LIKE 'added%' AND table_schema = '" + b.schema + "'",
		); got != fmt.Sprint(
			len(phases),
		) {
			b.Errorf("%s columns were added, want %d", got, len(phases))
		}
	})
}

// TestL9_KilledAfterTheOldTableWasDropped: only the state table shows the swap then.
func TestL9_KilledAfterTheOldTableWasDropped(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(100)
		var c *child
		b.wire(fault.Rule{After: "DROP TABLE IF EXISTS `" + b.schema + "`.`t_old`", At: "DROP TABLE", Call: func() { c.kill() }})
		c = b.child("ADD COLUMN added INT", "", nil, "--drop-old")
		if code, last := c.wait(); code != -1 {
			b.Fatalf("exit code %d: %s", code, last)
		}
		b.child("ADD COLUMN added INT", "", nil, "--drop-old").mustEnd()
	})
}

// TestL9_KilledWhileTheStatementIsTried: the next run removes the empty copy of the table on which
// the server was asked, because no program uses it any more.
func TestL9_KilledWhileTheStatementIsTried(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(100)
		var c *child
		w := b.wire(
			fault.Rule{
				After: schema.MarkFor(schema.CloneKind, schema.Name{Schema: b.schema, Table: "t"}),
				At:    "ALTER TABLE",
				Nth:   2,
				Call:  func() { c.kill() },
			},
		)
		c = b.child("ADD COLUMN added INT", "", nil, "--drop-old")
		if code, last := c.wait(); code != -1 {
			b.Fatalf("exit code %d: %s", code, last)
		}
		w.Close()
		b.address = b.server.Address
		if n := b.value(
			"SELECT COUNT(*) FROM information_schema.tables WHERE table_comment LIKE 'midstream clone%' AND table_schema = '" + b.schema + "'",
		); n != "1" {
			b.Fatalf("the killed run left %s copies, want 1", n)
		}
		b.child("ADD COLUMN added INT", "", nil, "--drop-old").mustEnd()
	})
}

// TestL5_OlderCheckpointDoesNotReplaceANewer: a checkpoint that was delayed on its way to the
// server describes the time before the swap. A run that was killed after the swap is finished all
// the same.
func TestL5_OlderCheckpointDoesNotReplaceANewer(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(9999)
		w := b.wire(fault.Rule{At: `"Phase":"verify"`, Delay: 2 * time.Second})
		c := b.child("ADD COLUMN added INT", phaseLine(event.PhaseCleanup), (*child).kill, "--checkpoint=10ms")
		if code, last := c.wait(); code != -1 {
			b.Fatalf("exit code %d: %s", code, last)
		}
		if !bent(w) {
			b.Fatal("no checkpoint was taken in phase verify")
		}
		w.Close() // waits for what is on its way
		b.address = b.server.Address
		again := b.child("ADD COLUMN added INT", "", nil)
		again.mustEnd()
		if !again.heard("stopped after its swap") {
			b.Error("it did not report that the swap had happened")
		}
	})
}

// TestL5_KilledAtRandomMoments: kill -9, again and again.
func TestL5_KilledAtRandomMoments(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		random := b.random()
		l := b.ledger(ledger.Int(), 20_000, ledger.Options{Rate: 300})
		b.start(l)
		left := *kills
		for n := 0; left > 0; n++ {
			b.killed(fmt.Sprintf("ADD COLUMN added%d INT NOT NULL DEFAULT 7", n), func(_ int, c *child) bool {
				if left == 0 {
					return false
				}
				left--
				time.AfterFunc(time.Duration(random.IntN(3000))*time.Millisecond, c.kill)
				return true
			}, "--chunk-time=20ms", "--checkpoint=50ms", "--drop-old")
		}
		b.mustMatchLedger(l)
	})
}

// TestL5_DistrustIsKept: if a run that had to distrust its capture is stopped, the next run has to
// distrust it too.
func TestL5_DistrustIsKept(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.numbered(9999)
		b.killedInCopy()
		b.exec("UPDATE " + b.schema + ".t_midstream SET state = JSON_SET(state, '$.Distrusted', TRUE) WHERE id = 2")
		const distrusted = "compares all rows before the swap"
		c := b.child(clauses, "", nil, slowly...)
		c.await(distrusted)
		c.await(phaseLine(event.PhaseCopy))
		c.kill()
		c.wait()
		b.anew("DELETE FROM "+b.schema+".t_shadow ORDER BY id LIMIT 1", distrusted)
	})
}

// TestL9_TheSameInOtherWordsGoesOn: other blanks, or words in another case, make no other ALTER.
func TestL9_TheSameInOtherWordsGoesOn(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(9999)
		b.killedInCopy()
		c := b.child("add  column added int;", "", nil)
		c.mustEnd()
		if !c.heard("resuming an earlier run") {
			b.Error("it began again")
		}
		b.equal()
	})
}

// TestL9_CheckAfterAStoppedCheck: a killed check has left nothing worth keeping, and the next check
// removes it. It leaves the work of a run alone.
func TestL9_CheckAfterAStoppedCheck(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(9999)
		check := func() error {
			pool, err := b.open(b.ctx())
			if err != nil {
				b.Fatal(err)
			}
			defer pool.Close()
			p, err := b.plan(pool, "MODIFY u SMALLINT UNIQUE", plan.Options{})
			if err != nil {
				b.Fatal(err)
			}
			server := binlog.Server{Network: "tcp", Address: b.address, User: b.server.User, Password: b.server.Password}
			_, err = migration.New(pool, server, p, b.cfg, b.control(), event.Discard).Check(b.ctx())
			return err
		}
		b.child("MODIFY u SMALLINT UNIQUE", phaseLine(event.PhasePrescan), (*child).kill).wait()
		if err := check(); err != nil {
			b.Error(err)
		}
		b.killedInCopy()
		if err := check(); !errors.Is(err, failure.ErrStopped) {
			b.Errorf("next to the work of a run: %v", err)
		}
		c := b.child(clauses, "", nil)
		c.mustEnd()
		if !c.heard("resuming an earlier run") {
			b.Error("the check has removed the run's work")
		}
	})
}
