package migration_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"midstream/internal/engine/event"
)

// TestL6_NoSwapWhenItsTimeIsOverAsAHookReturns: a listener that hears of the cut-over may take time
// before the run continues (a hook that asks a person). If the file or the window holds the run by
// then, it still holds.
func TestL6_NoSwapWhenItsTimeIsOverAsAHookReturns(t *testing.T) {
	b := setup(t, "9.7")
	b.numbered(500)
	b.settings.When.Gone = filepath.Join(b.TempDir(), "hold")
	asked := 0
	r := b.background(b.ctx(), clauses, func(e event.Event) {
		if is := entered(event.PhaseCutover)(e); !is {
			return
		}
		if asked++; asked == 1 { // the window closes at this moment
			if err := os.WriteFile(b.settings.When.Gone, nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	b.awaited("hold", func(e event.Event) bool { return entered(event.PhaseHold)(e) || entered(event.PhaseCleanup)(e) })
	select {
	case <-r.done:
		t.Fatal("the tables were swapped while the file was there")
	case <-time.After(time.Second):
	}
	if got := b.value(
		"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '" + b.schema + "' AND table_name = 't_shadow'",
	); got != "1" {
		t.Errorf("there are %s shadows", got)
	}
	if err := os.Remove(b.settings.When.Gone); err != nil {
		t.Fatal(err)
	}
	r.wait(b)
	if asked != 2 {
		t.Errorf("the cut-over was entered %d times", asked)
	}
	b.hasTables("digits,t,t_old")
}
