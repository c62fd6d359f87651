package summary_test

import (
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
	"midstream/internal/face/summary"
	"midstream/internal/ops/socket"
)

// TestStatusNamesEachPhaseAsTheDisplays: without progress, status has the words of the progress lines, of the page and of the report
// for each phase, of a run and of an undo, and not the name that JSON has.
func TestStatusNamesEachPhaseAsTheDisplays(t *testing.T) {
	for _, undoes := range []bool{false, true} {
		for _, phase := range event.Phases() {
			text := strings.Join(strings.Fields(summary.OfStatus(socket.Status{
				About: socket.About{Table: "shop.orders", Undoes: undoes}, Phase: string(phase), State: "running", CopyShare: "100%",
			})), " ")
			if want := humanize.PhaseOf(phase, undoes); !strings.Contains(text, "phase "+want) {
				t.Errorf("phase %s, undo %v: %q is missing in %s", phase, undoes, want, text)
			}
		}
	}
}
