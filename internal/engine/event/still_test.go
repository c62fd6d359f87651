package event

import (
	"testing"
	"time"
)

// TestAHeldRunIsQuiet: a run that is held tells its progress when it has news, and each minute.
func TestAHeldRunIsQuiet(t *testing.T) {
	t.Parallel()
	at := time.Now()
	held := func(seconds int, unfit int64) Progress {
		return Progress{Phase: PhaseHold, At: at.Add(time.Duration(seconds) * time.Second), Unfit: &Unfit{Rows: unfit}}
	}
	last := held(0, 0)
	plain, earlier := held(5, 0), held(0, 0)
	plain.Unfit, earlier.Unfit = nil, nil
	for name, c := range map[string]struct{ still, want bool }{
		"soon":             {held(5, 0).Still(last), true},
		"after a minute":   {held(60, 0).Still(last), false},
		"an unfit row":     {held(5, 1).Still(last), false},
		"no undo":          {plain.Still(earlier), true},
		"the first one":    {held(5, 0).Still(Progress{}), false},
		"another phase":    {Progress{Phase: PhaseVerify, At: at}.Still(last), false},
		"after a phase":    {held(5, 0).Still(Progress{Phase: PhaseVerify, At: at}), false},
		"first seen unfit": {held(5, 0).Still(earlier), false},
	} {
		if c.still != c.want {
			t.Errorf("%s: %t", name, c.still)
		}
	}
}
