package migration_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/ledger"
)

// member is a run that holds before its swap, and a conductor's way to it.
type member struct {
	operator.Round
	*running
	l *ledger.Ledger
}

// heldRun starts a run under writers, and waits until it is held.
func (b *bench) heldRun(rows int) *member {
	b.Helper()
	l := b.ledger(ledger.Int(), rows, ledger.Options{Writers: 2, Rate: 100})
	b.start(l)
	b.settings.When.Hold = true
	m := &member{running: &running{done: make(chan struct{})}, l: l}
	pool, p := b.planned(alter)
	control := b.control()
	m.Round = operator.Round{Control: control}
	ctx, stop := context.WithCancel(b.ctx())
	go func() {
		defer close(m.done)
		m.result, m.err = migration.New(pool, b.binlogServer(), p, b.cfg, control, event.Tee(b.told.listen)).Run(ctx)
	}()
	b.Cleanup(func() { stop(); <-m.done })
	b.awaited("the hold", entered(event.PhaseHold))
	return m
}

// held waits until a run is held again, and nobody has the table's lock.
func (b *bench) heldAgain(m *member) {
	b.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for round, _, _ := m.Barrier().Now(); round != 0; round, _, _ = m.Barrier().Now() {
		if time.Now().After(deadline) {
			b.Fatal("the round does not end")
		}
		time.Sleep(time.Millisecond)
	}
	select {
	case <-m.done:
		b.Fatalf("the run has ended: %v", m.err)
	default:
	}
	if b.swapped() {
		b.Fatal("the tables are swapped without a commit")
	}
	began := time.Now()
	b.exec("UPDATE " + b.schema + ".t SET id = id WHERE id = 1")
	if took := time.Since(began); took > time.Second {
		b.Errorf("a write waited %s after the lock was given back", took)
	}
}

// swapped reports whether the table has its new definition.
func (b *bench) swapped() bool {
	b.Helper()
	return b.value("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '"+b.schema+"' AND table_name = 't_old'") == "1"
}

// prepared prepares a round, again if a moment did not allow it.
func (b *bench) prepared(m *member, round int, hold time.Duration) {
	b.Helper()
	for try := 0; ; try++ {
		at, err := m.Prepare(b.ctx(), round, hold)
		var notNow *operator.NotNow
		switch {
		case err == nil && at.Round == round && at.Hold > 0 && at.Hold <= hold:
			return
		case err == nil || !errors.As(err, &notNow) || try == 20:
			b.Fatalf("prepare: %+v, %v", at, err)
		}
		b.Logf("round %d: %v", round, err)
		b.heldAgain(m)
	}
}

// TestL6_NoRenameWithoutACommit: a prepared run that hears nothing gives its lock back at its time, and one that is held again at
// once. Then it follows on, and a later round swaps.
func TestL6_NoRenameWithoutACommit(t *testing.T) {
	onTwo(t, func(b *bench) {
		b.settings.Lock.Work = 600 * time.Millisecond
		m := b.heldRun(2000)
		b.prepared(m, 1, 10*time.Second)
		began := time.Now()
		b.exec("UPDATE " + b.schema + ".t SET id = id WHERE id = 1") // waits for the end of the lock
		if took := time.Since(began); took > 600*time.Millisecond+slack+time.Second {
			b.Errorf("a write waited %s for a lock of at most 600 ms", took)
		}
		b.heldAgain(m)

		b.prepared(m, 2, 10*time.Second)
		if err := m.Hold(b.ctx()); err != nil {
			b.Errorf("hold: %v", err)
		}
		b.heldAgain(m)

		b.prepared(m, 3, 10*time.Second)
		if held, err := m.Commit(b.ctx()); !held || err != nil {
			b.Errorf("commit: held %t, %v", held, err)
		}
		result := m.wait(b)
		if result.Attempts != 1 {
			b.Errorf("%d attempts, and only the last round was one", result.Attempts)
		}
		b.mustMatchLedger(m.l)
	})
}

// TestL6_ALateCommitIsFinal: the commit comes after the lock was given back. The run asks for its lock again, and swaps.
func TestL6_ALateCommitIsFinal(t *testing.T) {
	onTwo(t, func(b *bench) {
		m := b.heldRun(2000)
		b.prepared(m, 1, 10*time.Second)
		b.heldAgain(m)
		if held, err := m.Commit(b.ctx()); held || err != nil {
			b.Errorf("commit: held %t, %v", held, err)
		}
		m.wait(b)
		b.mustMatchLedger(m.l)
		if _, err := m.Commit(b.ctx()); err == nil {
			b.Error("a swap was committed twice")
		}
	})
}

// TestL6_ALostSessionSwapsAfterTheCommit: the session with the lock is killed while the run is prepared. The commit is final: the run
// swaps by another session.
func TestL6_ALostSessionSwapsAfterTheCommit(t *testing.T) {
	onTwo(t, func(b *bench) {
		b.settings.Lock.Work = 5 * time.Second
		m := b.heldRun(2000)
		b.prepared(m, 1, 10*time.Second)
		kills := b.killOfHolder()
		b.exec(kills...)
		if held, err := m.Commit(b.ctx()); !held || err != nil {
			b.Errorf("commit: held %t, %v", held, err)
		}
		if result := m.wait(b); len(kills) > 0 && result.Attempts < 2 || len(kills) == 0 && !isMariaDB(b.version) {
			b.Errorf("%d sessions killed, %d attempts", len(kills), result.Attempts)
		}
		b.mustMatchLedger(m.l)
	})
}

// killOfHolder kills the sessions of the run that sleep.
func (b *bench) killOfHolder() (kills []string) {
	b.Helper()
	rows, err := b.db.QueryContext(b.ctx(), "SELECT CONCAT('KILL ', a.processlist_id) FROM performance_schema.session_connect_attrs a"+
		" JOIN performance_schema.threads t ON t.processlist_id = a.processlist_id"+
		" WHERE attr_name = 'midstream_run' AND processlist_command = 'Sleep'")
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var kill string
		if err := rows.Scan(&kill); err != nil {
			b.Fatal(err)
		}
		kills = append(kills, kill)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return kills
}

// TestL7_ALostAnswerAfterTheCommitIsResolvedByLooking: the RENAME that a commit has sent loses its answer, or never arrives.
func TestL7_ALostAnswerAfterTheCommitIsResolvedByLooking(t *testing.T) {
	for _, lost := range []bool{true, false} {
		onTwo(t, func(b *bench) {
			w := b.wire(fault.Rule{At: "RENAME TABLE `" + b.schema, Cut: !lost, Deaf: lost})
			m := b.heldRun(2000)
			b.prepared(m, 1, 10*time.Second)
			if _, err := m.Commit(b.ctx()); err != nil {
				b.Errorf("commit: %v", err)
			}
			m.wait(b)
			if !bent(w) {
				b.Error("the RENAME did not come")
			}
			b.mustMatchLedger(m.l)
		})
	}
}

// TestL6_WhatKeepsARunFromItsRound: a run that is blocked, paused or not held is not prepared, says why, and is as before.
// The file of a freeze holds a decision, too.
func TestL6_WhatKeepsARunFromItsRound(t *testing.T) {
	onEach(t, func(b *bench) {
		m := b.heldRun(1000)
		refused := func(what, why string) {
			b.Helper()
			_, err := m.Prepare(b.ctx(), 1, 300*time.Millisecond)
			var notNow *operator.NotNow
			if !errors.As(err, &notNow) || !strings.Contains(notNow.Why, why) {
				b.Errorf("%s: %v", what, err)
			}
			b.heldAgain(m)
		}
		blocker := b.conn()
		for _, s := range []string{"BEGIN", "SELECT COUNT(*) FROM " + b.schema + ".t WHERE id = 1"} {
			if _, err := blocker.ExecContext(b.ctx(), s); err != nil {
				b.Fatal(err)
			}
		}
		refused("blocked", "the lock was not free")
		if _, err := blocker.ExecContext(b.ctx(), "COMMIT"); err != nil {
			b.Fatal(err)
		}
		if _, err := m.Pause(b.ctx(), "anna"); err != nil {
			b.Fatal(err)
		}
		refused("paused", "paused")
		if err := m.Resume(); err != nil {
			b.Fatal(err)
		}
		if err := m.Control.Set(b.ctx(), map[string]string{"cutover-when-gone": "/"}); err != nil {
			b.Fatal(err)
		}
		refused("file", "the file / exists")
		var notNow *operator.NotNow
		if _, err := m.Commit(b.ctx()); !errors.As(err, &notNow) || !strings.Contains(notNow.Why, "the file / exists") {
			b.Errorf("a decision while the file of a freeze exists: %v", err)
		}
		b.heldAgain(m)
		if err := m.Control.Set(b.ctx(), map[string]string{"cutover-when-gone": ""}); err != nil {
			b.Fatal(err)
		}
		if _, err := m.Commit(b.ctx()); err != nil {
			b.Fatal(err)
		}
		m.wait(b)
		b.mustMatchLedger(m.l)
	})
}
