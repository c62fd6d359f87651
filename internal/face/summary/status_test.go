package summary_test

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
	"midstream/internal/face/summary"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// TestL9_StatusHasCommandsThatWork: what status prints about sessions in the way names the table of the run, and where its socket is.
func TestL9_StatusHasCommandsThatWork(t *testing.T) {
	blocked := event.Blocked{Run: "shop.orders", Blockers: []event.Blocker{{ConnectionID: 7, User: "app", Command: "Sleep", Age: time.Minute}}, At: time.Now()}
	text := strings.Join(strings.Fields(summary.OfStatus(socket.Status{
		About: socket.About{Table: "shop.orders", Reach: reach.Flags("").Sockets("/run/m")}, State: "blocked", CopyShare: "100%",
		Blocked: record.Of(blocked.Until(time.Now())),
	})), " ")
	for _, want := range []string{"next Queries are not waiting. To kill it: KILL 7.", "midstream set --control-dir=/run/m shop.orders kill-blockers-after=30s"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
}

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
