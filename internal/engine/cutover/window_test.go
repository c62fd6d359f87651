package cutover_test

import (
	"testing"
	"time"

	"midstream/internal/engine/cutover"
)

func TestWindow(t *testing.T) {
	at := func(text string) time.Time {
		moment, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return moment
	}
	for _, c := range []struct {
		window, now string
		open        bool
		next        string
	}{
		{"02:00-04:00 UTC", "2026-11-21T02:00:00Z", true, ""},
		{"02:00-04:00 UTC", "2026-11-21T03:59:59Z", true, ""},
		{"02:00-04:00 UTC", "2026-11-21T04:00:00Z", false, "2026-11-22T02:00:00Z"},
		{"02:00-04:00 UTC", "2026-11-21T01:59:59Z", false, "2026-11-21T02:00:00Z"},
		{"02:00-04:00 Europe/Berlin", "2026-11-21T01:30:00Z", true, ""},
		{"02:00-04:00 Europe/Berlin", "2026-11-21T03:30:00Z", false, "2026-11-22T01:00:00Z"},
		{"22:30-04:00 UTC", "2026-11-21T23:00:00Z", true, ""},
		{"22:30-04:00 UTC", "2026-11-21T03:00:00Z", true, ""},
		{"22:30-04:00 UTC", "2026-11-21T12:00:00Z", false, "2026-11-21T22:30:00Z"},
		// In the night in which clocks change from 2:00 to 3:00, the window begins at 3:00.
		{"02:30-04:00 Europe/Berlin", "2026-03-29T00:30:00Z", false, "2026-03-29T01:30:00Z"},
		{"02:30-04:00 Europe/Berlin", "2026-03-29T01:30:00Z", true, ""},
	} {
		w, err := cutover.ParseWindow(c.window)
		if err != nil {
			t.Fatal(err)
		}
		now := at(c.now)
		if w.Open(now) != c.open || w.String() != c.window || w.IsZero() {
			t.Errorf("%s at %s: open %t", c.window, c.now, w.Open(now))
		}
		if !c.open && !w.Next(now).Equal(at(c.next)) {
			t.Errorf("%s at %s: opens at %s, want %s", c.window, c.now, w.Next(now).UTC(), c.next)
		}
	}
	if !(cutover.Window{}).Open(time.Now()) {
		t.Error("no window is closed")
	}
	for _, wrong := range []string{"", "02:00", "2-4", "02:00-02:00", "25:00-04:00", "02:00-04:00 Atlantis", "02:00 - 04:00"} {
		if w, err := cutover.ParseWindow(wrong); err == nil {
			t.Errorf("%q is taken for %v", wrong, w)
		}
	}
}
