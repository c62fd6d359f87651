package operator

import (
	"testing"
	"time"

	"midstream/internal/engine/event"
)

// TestBlockersHasTheOldSnapshot: a session with an old snapshot holds no lock, and the run waits for it. It is listed as long as the run
// sees it.
func TestBlockersHasTheOldSnapshot(t *testing.T) {
	c, at := &Control{}, time.Now()
	Saw(c, []event.Blocker{{ConnectionID: 7, Snapshot: true, Age: time.Minute}, {ConnectionID: 8}}, at)
	if got := oldSnapshots(c, at.Add(time.Second)); len(got) != 1 || got[0].ConnectionID != 7 || got[0].Age != 61*time.Second {
		t.Errorf("%+v", got)
	}
	if got := oldSnapshots(c, at.Add(time.Minute)); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
