package follow

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"midstream/internal/engine/backlog"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/key"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/park"
	"midstream/internal/engine/rowsync"
)

// TestU4_AnUndoThatDoesNotCatchUpEnds: an undo ends if rows that do not fit are written faster than they are set apart, and not
// because of some of them. A backlog that swings, and a moment at which it is small, are no gain.
func TestU4_AnUndoThatDoesNotCatchUpEnds(t *testing.T) {
	t.Parallel()
	swings := func(n int) int { return 900 + n%3*300 } // a batch of keys leaves it at once
	for name, c := range map[string]struct {
		tries, backlog, delay, rows func(n int) int // at a look; nil: 100 n, 50, 0 and 0
		ends                        bool
	}{
		"faster":                {backlog: func(n int) int { return 1100 + 10*n }, ends: true},
		"full backlog":          {backlog: func(int) int { return 100_000 }, ends: true},
		"swings":                {backlog: swings, ends: true},
		"swings, and grows":     {backlog: func(n int) int { return 10*n + n%4*500 }, ends: true},
		"the same rows again":   {tries: func(n int) int { return 5 * n }, backlog: swings, ends: true},
		"gains next to nothing": {backlog: func(n int) int { return 1_000_000 - n }, ends: true},
		"gains too late":        {backlog: func(n int) int { return 2000 + max(0, 20-n)*n }, ends: true},
		"capture is behind":     {delay: func(n int) int { return 2 + n }, ends: true},
		"slower":                {},
		"catches up":            {backlog: func(n int) int { return 1_000_000 - 1000*n }},
		"catches up in swings":  {backlog: func(n int) int { return 50_000 - 100*n + n%3*1000 }},
		"catches up after more": {backlog: func(n int) int { return max(100_000-2000*n, 0) * min(n, 1) }},
		"capture catches up":    {backlog: func(n int) int { return 1100 + 10*n }, delay: func(n int) int { return 300 - 3*n }},
		"no more unfit":         {tries: func(int) int { return 100 }, backlog: func(n int) int { return 1100 + 10*n }},
		"few unfit":             {tries: func(n int) int { return n / 20 }, backlog: func(n int) int { return 1100 + 10*n }},
		"copies rows":           {backlog: swings, rows: func(n int) int { return n }},
	} {
		of := func(f func(int) int, n, otherwise int) int {
			if f == nil {
				return otherwise
			}
			return f(n)
		}
		var p pace
		ended := false
		for n := range 60 {
			l := look{tries: uint64(of(c.tries, n, 100*n)), backlog: of(c.backlog, n, 50), rows: int64(of(c.rows, n, 0))}
			l.delay = time.Duration(of(c.delay, n, 0)) * time.Second
			l.ready = l.backlog <= 1000 && l.delay < time.Second
			ended = ended || p.outrun(l, time.Second)
		}
		if ended != c.ends {
			t.Errorf("%s: ended %t", name, ended)
		}
	}
}

// TestU4_AnUndoEndsAfterManyOverruns: if unfit rows are too many for the lock, fewer of them must do. At last the undo ends, and
// one that follows is held again.
func TestU4_AnUndoEndsAfterManyOverruns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		unfit := rowsync.NewUnfit(func(rowsync.UnfitRow) {})
		f := New(Deps{
			Control: operator.NewControl(operator.Settings{}), Lot: &park.Lot{}, Unfit: unfit, CatchUp: 1000,
			Backlog: backlog.New(backlog.Config{}, nil), Delay: func() time.Duration { return 0 }, Undecided: func() int { return 0 },
		})
		f.Undone(cutover.ErrOverrun)
		if f.reach() != 1000 {
			t.Errorf("reach is %d, and no row is unfit", f.reach())
		}
		for n := range 20 {
			unfit.Put(key.Key(strconv.Itoa(n)), errors.New("refused"))
			f.Undone(fmt.Errorf("apply: %w", cutover.ErrOverrun))
			f.Undone(cutover.ErrNotGranted)
			time.Sleep(5 * time.Second)
			if f.reach() != 1000>>(n+1) {
				t.Fatalf("reach is %d after %d overruns", f.reach(), n+1)
			}
			err := f.Released(t.Context())
			if late := n >= 12; late != errors.Is(err, ErrOutrun) || !late && err != nil {
				t.Fatalf("after %d overruns: %v", n+1, err)
			}
		}
	})
}

// TestU3_AFollowerThatBeginsTooLateEnds: a follower ends when the time of the undo is over, also if it began after that. Its
// time may be extended while it follows.
func TestU3_AFollowerThatBeginsTooLateEnds(t *testing.T) {
	t.Parallel()
	left, asked := -time.Second, 0
	f := New(Deps{
		Control: operator.NewControl(operator.Settings{When: operator.When{Hold: true}}), Lot: &park.Lot{},
		Left: func(context.Context) (time.Duration, error) { asked++; return left, nil },
	})
	if err := f.over(t.Context()); !errors.Is(err, ErrOver) {
		t.Errorf("a follower that begins after the time of its undo: %v", err)
	}
	left = time.Hour
	for range 3 {
		if err := f.over(t.Context()); err != nil {
			t.Errorf("a follower within the time of its undo: %v", err)
		}
	}
	if asked != 2 {
		t.Errorf("the rest of the time was read %d times", asked)
	}
}
