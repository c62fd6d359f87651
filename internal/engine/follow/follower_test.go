package follow

import (
	"context"
	"errors"
	"testing"
	"time"

	"midstream/internal/engine/operator"
	"midstream/internal/engine/park"
)

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
