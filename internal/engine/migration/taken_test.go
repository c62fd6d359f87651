package migration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/lab/fault"
)

// stranger makes a table of another owner.
func (b *bench) stranger(name string) {
	b.exec("CREATE TABLE "+b.schema+"."+name+" (precious INT)", "INSERT INTO "+b.schema+"."+name+" VALUES (1)")
}

// unharmed fails the test if a stranger's table has changed.
func (b *bench) unharmed(name string) {
	b.Helper()
	if got := b.value("SELECT SUM(precious) FROM " + b.schema + "." + name); got != "1" {
		b.Errorf("%s holds %s", name, got)
	}
}

// TestL9_TakenNameCostsNoWork: after the plan was made, another session takes the name that the old
// table was to get. The old table gets the next name.
func TestL9_TakenNameCostsNoWork(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(1000)
		result := b.mustMigrate("ADD COLUMN added INT", onPhase(event.PhaseCatchUp, func() {
			if b.tables() == "digits,t,t_midstream,t_shadow" {
				b.stranger("t_old")
				b.stranger("t_old2")
			}
		}))
		if want := b.schema + ".t_old3"; result.Old != want {
			b.Errorf("the result names the old table %q, want %s", result.Old, want)
		}
		if got := b.tables(); got != "digits,t,t_old,t_old2,t_old3" {
			b.Errorf("tables are %s", got)
		}
		b.unharmed("t_old")
		b.unharmed("t_old2")
		if _, err := b.told.wait(b.ctx(), "a note", func(e event.Event) bool {
			n, is := e.(event.Note)
			return is && strings.Contains(n.Text, "t_old3")
		}); err != nil {
			b.Error(err)
		}
	})
}

// TestL8_FinishKnowsTheNextName: a run is killed right after a swap that needed another name for
// the old table. The command that finishes it drops the table of that name.
func TestL8_FinishKnowsTheNextName(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(1000)
		var c *child
		ready := make(chan struct{})
		b.wire(fault.Rule{After: "TO `" + b.schema + "`.`t_old2`", At: "UNLOCK TABLES", Call: func() {
			<-ready
			c.kill()
		}})
		c = b.child("ADD COLUMN added INT", phaseLine(event.PhaseShadow), func(*child) { b.stranger("t_old") })
		close(ready)
		if code, last := c.wait(); code != -1 {
			b.Fatalf("exit code %d: %s", code, last)
		}
		b.address = b.server.Address
		again := b.child("ADD COLUMN added INT", "", nil, "--drop-old")
		again.mustEnd()
		if !again.heard("stopped after its swap") {
			b.Error("it did not report that the swap had happened")
		}
		if got := b.tables(); got != "digits,t,t_old" {
			b.Errorf("tables are %s", got)
		}
		b.unharmed("t_old")
	})
}

// TestL9_NameTakenUnderTheLock: on servers that need two sessions for the swap, the name is free
// for a moment before the RENAME takes it.
func TestL9_NameTakenUnderTheLock(t *testing.T) {
	b := setup(t, "8.0")
	b.numbered(1000)
	w := b.wire(fault.Rule{After: "DROP TABLE `" + b.schema + "`.`t_old`", At: "UNLOCK TABLES", Call: func() { b.stranger("t_old") }})
	if result := b.mustMigrate("ADD COLUMN added INT"); result.Old != b.schema+".t_old2" || !bent(w) {
		b.Errorf("the result names the old table %q", result.Old)
	}
	b.unharmed("t_old")
}

// TestL9_NoNameLeftKeepsTheWork: every name is taken. The copied rows are kept, and the run resumes
// when a name is free.
func TestL9_NoNameLeftKeepsTheWork(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(1000)
		_, err := b.migrate(b.ctx(), "ADD COLUMN added INT", onPhase(event.PhaseVerify, func() {
			b.stranger("t_old")
			for n := 2; n <= 9; n++ {
				b.stranger(fmt.Sprint("t_old", n))
			}
		}))
		var failed *failure.Failure
		if !errors.As(err, &failed) || !failed.Kept || !strings.Contains(err.Error(), "t_old9") {
			b.Fatalf("error is %v", err)
		}
		b.unharmed("t_old")
		b.exec("DROP TABLE " + b.schema + ".t_old4")
		if result := b.mustMigrate("ADD COLUMN added INT"); !result.Resumed || result.Old != b.schema+".t_old4" {
			b.Errorf("resumed: %t, the old table is %s", result.Resumed, result.Old)
		}
	})
}

// TestL10_OnlyALockThatWasGrantedIsToldAsOne: an attempt that fails before it has asked for the
// lock is not reported as granted.
func TestL10_OnlyALockThatWasGrantedIsToldAsOne(t *testing.T) {
	b := setup(t, "8.0")
	b.numbered(1000)
	var all, granted int
	b.mustMigrate("ADD COLUMN added INT", onPhase(event.PhaseCatchUp, func() {
		if b.tables() == "digits,t,t_midstream,t_shadow" {
			b.stranger("t_old")
		}
	}), func(e event.Event) {
		if a, is := e.(event.LockAttempt); is {
			all++
			if a.Granted {
				granted++
			}
		}
	})
	if all < 2 || granted != 1 {
		b.Errorf("%d of %d attempts were granted the lock", granted, all)
	}
}
