package operator

import (
	"errors"
	"testing"
)

// TestU3_ARefusedReleaseReleasesNothing: an undo that is paused refuses its release, and is held still when it works again. It
// parks no rows because of the refused command.
func TestU3_ARefusedReleaseReleasesNothing(t *testing.T) {
	t.Parallel()
	c := NewControl(Settings{When: When{Hold: true, Follow: true}})
	if _, err := c.Pause(t.Context(), "someone"); err != nil {
		t.Fatal(err)
	}
	var not *NotNow
	if err := c.Release(t.Context(), true); !errors.As(err, &not) {
		t.Errorf("the release of a paused undo: %v", err)
	}
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	if when := c.Settings().When; !when.Hold || when.Park {
		t.Errorf("after a refused release, its settings are %+v", when)
	}
	if err := c.Release(t.Context(), true); err != nil {
		t.Errorf("the release: %v", err)
	}
	if when := c.Settings().When; when.Hold || !when.Park {
		t.Errorf("after the release, its settings are %+v", when)
	}
	if err := c.Release(t.Context(), false); !errors.As(err, &not) {
		t.Errorf("the release of an undo that was released: %v", err)
	}
}
