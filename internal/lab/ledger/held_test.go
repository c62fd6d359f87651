package ledger

import (
	"errors"
	"testing"
	"time"

	"midstream/internal/lab/mysqltest"
)

// TestHeldTransactions forces transactions of every kind while the writers run.
func TestHeldTransactions(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqltest.Instance) {
		l := setup(t, s, ThreeUnique(), 2000, Options{Hold: []Slot{5, 1500}})
		must(t, l.Start(t.Context()))
		absent, err := l.Held(2000, true)
		must(t, err)
		if own := l.book.owner(absent); own != held {
			t.Fatalf("slot %d is of %d", absent, own)
		}

		tx, err := l.Begin(t.Context())
		must(t, err)
		must(t, tx.HandOver(0, 5, 1500))
		must(t, tx.Swap(2, 5, 1500))
		must(t, tx.Savepoint())
		must(t, tx.Delete(5))
		must(t, tx.RollbackTo())
		must(t, tx.Update(5))
		must(t, tx.Reinsert(1500))
		must(t, tx.Delete(1501))
		must(t, tx.Move(1502, 1501))
		must(t, tx.Replace(1502))
		must(t, tx.ReplaceTaking(1503, 0, 1502))
		must(t, tx.Upsert(1502))
		must(t, tx.UpdateRange(1500, 1503))
		must(t, tx.UpdateWide(1500))
		must(t, tx.Commit())

		tx, err = l.Begin(t.Context())
		must(t, err)
		must(t, tx.DeleteRange(1500, 1503))
		tx.Rollback()

		tx, err = l.BeginXA(t.Context())
		must(t, err)
		must(t, tx.Update(5))
		must(t, tx.Prepare())
		must(t, tx.Commit())

		must(t, l.Do(t.Context(), OpHandOverTwo))
		must(t, l.Stop())
		mustEqual(t, l)
	})
}

// TestHeldSlotsOnly: a transaction of a test's must not write where a writer does.
func TestHeldSlotsOnly(t *testing.T) {
	l := setup(t, mysqltest.Server(t, "9.7"), Int(), 2000, Options{Hold: []Slot{5}})
	tx, err := l.Begin(t.Context())
	must(t, err)
	defer tx.Rollback()
	if err := tx.Update(1999); err == nil {
		t.Error("updated a slot that is not held")
	}
	if err := tx.Move(5, 1_000_000); err == nil {
		t.Error("moved a row out of the book")
	}
	own := errors.New("the test's own")
	err = l.Transact(t.Context(), func(tx *Tx) error { return errors.Join(tx.Update(5), own) })
	if !errors.Is(err, own) || errors.Is(err, ErrUndone) {
		t.Errorf("got %v", err)
	}
	mustEqual(t, l)
}

// TestHeldTransactionsSideBySide: two open transactions draw different unique values.
func TestHeldTransactionsSideBySide(t *testing.T) {
	l := setup(t, mysqltest.Server(t, "9.7"), ThreeUnique(), 64, Options{Writers: -1})
	one, err := l.Begin(t.Context())
	must(t, err)
	two, err := l.Begin(t.Context())
	must(t, err)
	for i := range Slot(10) {
		must(t, one.Insert(64+i))
		must(t, two.Insert(80+i))
	}
	must(t, two.Commit())
	one.Rollback()
	mustEqual(t, l)
}

// TestUndoneByDeadlock: the loser of a deadlock learns it, and the ledger is exact.
func TestUndoneByDeadlock(t *testing.T) {
	l := setup(t, mysqltest.Server(t, "9.7"), Int(), 64, Options{Writers: -1})
	one, err := l.Begin(t.Context())
	must(t, err)
	two, err := l.Begin(t.Context())
	must(t, err)
	must(t, one.Update(1))
	must(t, two.Update(50))
	waits := make(chan error, 1)
	go func() { waits <- one.Update(50) }()
	second := two.Update(1) // closes the circle, whoever comes first
	first := <-waits
	if (first == nil) == (second == nil) {
		t.Fatalf("got %v and %v", first, second)
	}
	for tx, err := range map[*Tx]error{one: first, two: second} {
		if err == nil {
			must(t, tx.Commit())
		} else if err := tx.settle(err); !errors.Is(err, ErrUndone) {
			t.Errorf("got %v", err)
		}
	}
	mustEqual(t, l)
}

func TestPauseKeepsTheTableStill(t *testing.T) {
	l := setup(t, mysqltest.Server(t, "9.7"), Int(), 1000, Options{})
	must(t, l.Start(t.Context()))
	if _, err := l.Compare(t.Context()); err == nil {
		t.Error("compared while the writers run")
	}
	for range 5 {
		time.Sleep(short / 10)
		must(t, l.Pause(t.Context()))
		before := l.Stats().Statements
		mustEqual(t, l)
		if after := l.Stats().Statements; after != before {
			t.Errorf("%d statements in the pause", after-before)
		}
		l.Resume()
	}
	must(t, l.Pause(t.Context()))
	must(t, l.Stop()) // ends paused writers too
	l.Resume()
	mustEqual(t, l)
}
