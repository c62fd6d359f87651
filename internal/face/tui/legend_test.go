package tui

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
)

// TestShortWordsAreExplainedOnce: the first line of progress that has "app" or "backlog" is followed by a line about it, later ones are not.
func TestShortWordsAreExplainedOnce(t *testing.T) {
	var out strings.Builder
	l := &Lines{Out: &out}
	at := time.Date(2026, 11, 29, 3, 0, 0, 0, time.UTC)
	for n := range 4 {
		p := event.Progress{Phase: event.PhaseCopy, At: at.Add(time.Duration(n) * lineEvery), RowsTotal: 100, ETA: time.Minute}
		p.RowsCopied = int64(n)
		if n > 0 {
			p.Slowdown, p.Backlog, p.Workers = 0.08, 1234, 0.1
		}
		l.Show(p)
	}
	text := out.String()
	if strings.Count(text, "(app: ") != 1 || strings.Count(text, "(backlog: ") != 1 || strings.Count(text, "app +8 %") != 3 ||
		strings.Count(text, "(works: ") != 1 || strings.Count(text, "  works 10 %") != 3 || strings.Index(text, "(app: ") < strings.Index(text, "app +8 %") {
		t.Error(text)
	}
}
