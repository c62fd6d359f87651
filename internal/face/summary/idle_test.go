package summary_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/face/summary"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

// TestStatusIsNotBuriedByUndos: of many tables with an undo, status shows three lines, and the names of the others.
func TestStatusIsNotBuriedByUndos(t *testing.T) {
	var idle summary.Idle
	for n := range 9 {
		e := history.Entry{Result: &record.Result{Undo: &record.Open{Until: time.Now().Add(time.Hour)}}}
		e.Run.Table = fmt.Sprintf("shop.t%d", n)
		idle.Done = append(idle.Done, e)
	}
	text := summary.OfAll(nil, idle, "")
	if strings.Count(text, "\n") != 5 || !strings.Contains(text, "6 more tables") || !strings.Contains(text, "shop.t3, shop.t4") {
		t.Errorf("status is\n%s", text)
	}
}
