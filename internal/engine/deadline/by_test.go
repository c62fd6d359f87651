package deadline_test

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/deadline"
)

// TestBy: a time of day is the next one, a date is that one, and the clock's changes never make a
// deadline later.
func TestBy(t *testing.T) {
	for _, c := range []struct{ text, from, want string }{
		{"06:00 UTC", "2026-11-25T22:00:00Z", "2026-11-26T06:00:00Z"},
		{"06:00 UTC", "2026-11-25T06:00:00Z", "2026-11-26T06:00:00Z"},
		{"06:00 UTC", "2026-11-25T05:59:59Z", "2026-11-25T06:00:00Z"},
		{"06:00 Europe/Berlin", "2026-11-25T22:00:00Z", "2026-11-26T05:00:00Z"},
		{"2026-11-27 06:00 Europe/Berlin", "2026-11-25T22:00:00Z", "2026-11-27T05:00:00Z"},
		{"2026-11-27T06:00:00+01:00", "2026-11-29T22:00:00Z", "2026-11-27T05:00:00Z"},
		// The clocks skip from 02:00 to 03:00.
		{"02:30 Europe/Berlin", "2026-03-28T22:00:00Z", "2026-03-29T01:00:00Z"},
		{"03:00 Europe/Berlin", "2026-03-28T22:00:00Z", "2026-03-29T01:00:00Z"},
		{"02:30 America/New_York", "2026-03-08T01:00:00Z", "2026-03-08T07:00:00Z"},
		// The clocks show 02:00 to 03:00 twice.
		{"02:30 Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T00:30:00Z"},
		{"2026-10-25 02:30 Europe/Berlin", "2026-10-25T00:45:00Z", "2026-10-25T00:30:00Z"},
		{"03:00 Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T02:00:00Z"},
	} {
		by, err := deadline.ParseBy(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		from, _ := time.Parse(time.RFC3339, c.from)
		want, _ := time.Parse(time.RFC3339, c.want)
		if at := by.At(from); !at.Equal(want) {
			t.Errorf("%s from %s is %s, want %s", c.text, c.from, at.UTC(), want)
		}
		fixed := by.Fixed(from)
		again, err := deadline.ParseBy(fixed.String())
		if err != nil || !again.At(from.AddDate(0, 0, 9)).Equal(want) && !strings.HasPrefix(c.text, "02:30") {
			t.Errorf("%s is fixed as %s, which is %s: %v", c.text, fixed, again.At(from), err)
		}
		if !fixed.At(from.AddDate(0, 0, 9)).Equal(want) {
			t.Errorf("%s is fixed at %s", c.text, fixed.At(from))
		}
	}
	for _, text := range []string{"", "6", "25:00", "06:00 Mars/Base", "tomorrow", "2026-13-01 06:00", "06:00 Europe Berlin", "2026-11-27"} {
		if by, err := deadline.ParseBy(text); err == nil {
			t.Errorf("%q is read as %v", text, by)
		} else if !strings.Contains(err.Error(), "Europe/Berlin") {
			t.Errorf("%q: %v has no example", text, err)
		}
	}
}

// TestTermsTakeTheEarlier: of two deadlines, the earlier one counts.
func TestTermsTakeTheEarlier(t *testing.T) {
	began := time.Date(2026, 11, 25, 22, 0, 0, 0, time.UTC)
	by, err := deadline.ParseBy("06:00 UTC")
	if err != nil {
		t.Fatal(err)
	}
	for within, want := range map[time.Duration]time.Duration{0: 8 * time.Hour, time.Hour: time.Hour, 9 * time.Hour: 8 * time.Hour} {
		if at := (deadline.Terms{Within: within, By: by}).At(began); at.Sub(began) != want {
			t.Errorf("within %s: it is after %s, want %s", within, at.Sub(began), want)
		}
	}
	if at := (deadline.Terms{}).At(began); !at.IsZero() {
		t.Errorf("none is %s", at)
	}
}
