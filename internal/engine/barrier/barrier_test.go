package barrier

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"midstream/internal/engine/lock"
)

// attempt makes an attempt as a run does: it takes the lock for a time, and is held under it. It reports whether it would rename.
func attempt(ctx context.Context, b *Barrier, before, work time.Duration) (renames bool, err error) {
	if !b.Begin() {
		return false, nil
	}
	time.Sleep(before)
	err = b.Pass(ctx, time.Now().Add(work), func(Prepared) {})
	own := b.Own(err)
	b.End(own)
	return err == nil, own
}

// TestL6_OnlyACommitPasses: whatever comes when, an attempt of a round renames only after a commit, and is over at its time.
func TestL6_OnlyACommitPasses(t *testing.T) {
	t.Parallel()
	const work, hold = 200 * time.Millisecond, time.Second
	for name, c := range map[string]struct {
		before, at time.Duration // of the lock, and of what is done
		do         func(b *Barrier)
		renames    bool
		took       time.Duration // at most, since the request
	}{
		"nothing":              {before: 50 * time.Millisecond, took: 250 * time.Millisecond},
		"commit":               {before: 50 * time.Millisecond, at: 100 * time.Millisecond, do: func(b *Barrier) { b.Decide() }, renames: true, took: 100 * time.Millisecond},
		"commit before it":     {before: 50 * time.Millisecond, at: 20 * time.Millisecond, do: func(b *Barrier) { b.Decide() }, renames: true, took: 50 * time.Millisecond},
		"commit after it":      {before: 50 * time.Millisecond, at: 300 * time.Millisecond, do: func(b *Barrier) { b.Decide() }, took: 250 * time.Millisecond},
		"hold":                 {before: 50 * time.Millisecond, at: 100 * time.Millisecond, do: func(b *Barrier) { b.Withdraw() }, took: 100 * time.Millisecond},
		"hold before it":       {before: 50 * time.Millisecond, at: 20 * time.Millisecond, do: func(b *Barrier) { b.Withdraw() }, took: 50 * time.Millisecond},
		"late lock":            {before: 900 * time.Millisecond, took: time.Second},
		"too late a lock":      {before: 1100 * time.Millisecond, took: 1100 * time.Millisecond},
		"another round":        {before: 50 * time.Millisecond, at: 100 * time.Millisecond, do: func(b *Barrier) { _ = b.Ask(2, hold) }, took: 250 * time.Millisecond},
		"the same round again": {before: 50 * time.Millisecond, at: 100 * time.Millisecond, do: func(b *Barrier) { _ = b.Ask(1, hold) }, took: 250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := New()
				defer b.Open()()
				began := time.Now()
				if err := b.Ask(1, hold); err != nil {
					t.Fatal(err)
				}
				if c.do != nil {
					time.AfterFunc(c.at, func() { c.do(b) })
				}
				renames, err := attempt(t.Context(), b, c.before, work)
				if took := time.Since(began); renames != c.renames || took > c.took {
					t.Errorf("renames %t after %s: %v", renames, took, err)
				}
				if !renames && (!errors.Is(err, lock.ErrRound) || !errors.Is(err, ErrGivenBack)) {
					t.Errorf("not one of a round: %v", err)
				}
				if again, err := attempt(t.Context(), b, 0, work); again {
					t.Errorf("it renames again: %v", err)
				}
			})
		})
	}
}

// TestL6_PreparedIsTrue: who is told that a run is prepared may commit within the time that it is told.
func TestL6_PreparedIsTrue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New()
		if err := b.Ask(1, time.Second); !errors.Is(err, ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		shut := b.Open()
		sent := time.Now()
		if err := b.Ask(1, time.Second); err != nil {
			t.Fatal(err)
		}
		done := make(chan bool)
		go func() {
			renames, _ := attempt(t.Context(), b, 50*time.Millisecond, 200*time.Millisecond)
			done <- renames
		}()
		at, err := b.Wait(t.Context(), 1)
		if err != nil || at.Round != 1 || at.Hold != 250*time.Millisecond {
			t.Fatalf("%+v, %v", at, err)
		}
		time.Sleep(at.Hold - time.Since(sent) - time.Millisecond)
		if held := b.Decide(); !held || !<-done {
			t.Error("the last moment was too late")
		}
		if err := b.Ask(2, 300*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Wait(t.Context(), 2); !errors.Is(err, ErrLate) {
			t.Errorf("nobody has tried: %v", err)
		}
		shut()
	})
}
