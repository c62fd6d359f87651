package follow

import (
	"context"
	"errors"
	"testing"
	"time"

	"midstream/internal/engine/operator"
	"midstream/internal/engine/park"
)

// TestU4_AnUndoThatDoesNotCatchUpEnds: an undo ends if rows that do not fit are written faster than they are set apart, and not
// because of some of them.
func TestU4_AnUndoThatDoesNotCatchUpEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		unfit, backlog func(look int) int
		ends           bool
	}{
		"faster":        {func(n int) int { return 100 * n }, func(n int) int { return 1000 + 10*n }, true},
		"full backlog":  {func(n int) int { return 100 * n }, func(int) int { return 100_000 }, true},
		"slower":        {func(n int) int { return 100 * n }, func(int) int { return 50 }, false},
		"catching up":   {func(n int) int { return 100 * n }, func(n int) int { return 1_000_000 - 1000*n }, false},
		"no more unfit": {func(int) int { return 100 }, func(n int) int { return 1000 + 10*n }, false},
	} {
		var p Pace
		at, ended := time.Now(), false
		for look := range 100 {
			ended = ended || p.outrun(at.Add(time.Duration(look)*lookEvery), c.unfit(look), c.backlog(look))
		}
		if ended != c.ends {
			t.Errorf("%s: ended %t", name, ended)
		}
	}
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
