package window_test

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/window"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func parse(t *testing.T, text string) window.Window {
	t.Helper()
	w, err := window.Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return w
}

// TestWindow: a window is open or closed at a moment, and changes at the next one. 2026-11-21 is a
// Saturday.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		window, now string
		open        bool
		next        string // "" for never
	}{
		{"02:00-04:00 UTC", "2026-11-21T02:00:00Z", true, "2026-11-21T04:00:00Z"},
		{"02:00-04:00 UTC", "2026-11-21T03:59:59Z", true, "2026-11-21T04:00:00Z"},
		{"02:00-04:00 UTC", "2026-11-21T04:00:00Z", false, "2026-11-22T02:00:00Z"},
		{"02:00-04:00 UTC", "2026-11-21T01:59:59Z", false, "2026-11-21T02:00:00Z"},
		{"02:00-04:00 Europe/Berlin", "2026-11-21T01:30:00Z", true, "2026-11-21T03:00:00Z"},
		{"02:00-04:00 Europe/Berlin", "2026-11-21T03:30:00Z", false, "2026-11-22T01:00:00Z"},
		{"22:30-04:00 UTC", "2026-11-21T23:00:00Z", true, "2026-11-22T04:00:00Z"},
		{"22:30-04:00 UTC", "2026-11-21T03:00:00Z", true, "2026-11-21T04:00:00Z"},
		{"22:30-04:00 UTC", "2026-11-21T12:00:00Z", false, "2026-11-21T22:30:00Z"},
		// Weekdays.
		{"Mon-Fri 22:00-06:00 UTC", "2026-11-20T21:59:59Z", false, "2026-11-20T22:00:00Z"},
		{"Mon-Fri 22:00-06:00 UTC", "2026-11-21T05:59:59Z", true, "2026-11-21T06:00:00Z"}, // Friday's
		{"Mon-Fri 22:00-06:00 UTC", "2026-11-21T06:00:00Z", false, "2026-11-23T22:00:00Z"},
		{"Mon-Fri 22:00-06:00 UTC", "2026-11-23T05:00:00Z", false, "2026-11-23T22:00:00Z"}, // Sunday has none
		{"sat,SUN UTC", "2026-11-21T00:00:00Z", true, "2026-11-23T00:00:00Z"},
		{"Sat,Sun UTC", "2026-11-23T00:00:00Z", false, "2026-11-28T00:00:00Z"},
		{"Sat 00:00-24:00 UTC", "2026-11-21T23:59:59Z", true, "2026-11-22T00:00:00Z"},
		{"Fri-Mon 10:00-11:00 UTC", "2026-11-23T11:00:00Z", false, "2026-11-27T10:00:00Z"},
		{"Mon,Wed-Thu 10:00-11:00 UTC", "2026-11-23T11:00:00Z", false, "2026-11-25T10:00:00Z"},
		{"Sat 10:00-11:00 UTC", "2026-11-21T11:00:00Z", false, "2026-11-28T10:00:00Z"},
		// Several, which may touch.
		{"Mon-Fri 22:00-06:00; Sat,Sun UTC", "2026-11-20T23:00:00Z", true, "2026-11-23T00:00:00Z"},
		{"02:00-03:00;12:00-13:00 UTC", "2026-11-21T03:00:00Z", false, "2026-11-21T12:00:00Z"},
		{"02:00-03:00;12:00-13:00 UTC", "2026-11-21T12:30:00Z", true, "2026-11-21T13:00:00Z"},
		{"20:00-24:00 ; 00:00-02:00 UTC", "2026-11-21T23:00:00Z", true, "2026-11-22T02:00:00Z"},
		{"02:00-05:00;03:00-04:00 UTC", "2026-11-21T02:00:00Z", true, "2026-11-21T05:00:00Z"},
		{"Mon-Sun UTC", "2026-11-21T02:00:00Z", true, ""},
		{"00:00-24:00", "2026-11-21T02:00:00Z", true, ""},
		// The zone decides which day it is.
		{"Mon Pacific/Auckland", "2026-11-22T12:00:00Z", true, "2026-11-23T11:00:00Z"},
		{"Mon America/Los_Angeles", "2026-11-24T07:59:59Z", true, "2026-11-24T08:00:00Z"},
		// In the night in which clocks change from 2:00 to 3:00, the window begins at 3:00.
		{"02:30-04:00 Europe/Berlin", "2026-03-29T00:30:00Z", false, "2026-03-29T01:00:00Z"},
		{"02:30-04:00 Europe/Berlin", "2026-03-29T01:00:00Z", true, "2026-03-29T02:00:00Z"},
		{"02:30-04:00 Europe/Berlin", "2026-03-29T01:30:00Z", true, "2026-03-29T02:00:00Z"},
		{"22:00-02:30 Europe/Berlin", "2026-03-29T00:59:59Z", true, "2026-03-29T01:00:00Z"},
		{"22:00-02:30 Europe/Berlin", "2026-03-29T01:00:00Z", false, "2026-03-29T20:00:00Z"},
		{"22:00-06:00 Europe/Berlin", "2026-03-28T21:00:00Z", true, "2026-03-29T04:00:00Z"},
		{"02:00-03:00 Europe/Berlin", "2026-03-29T00:30:00Z", false, "2026-03-30T00:00:00Z"}, // skipped
		{"Sun 02:10-02:20 Europe/Berlin", "2026-03-22T01:30:00Z", false, "2026-04-05T00:10:00Z"},
		// In the night in which clocks change from 3:00 to 2:00, the first time of two counts.
		{"22:00-06:00 Europe/Berlin", "2026-10-24T20:00:00Z", true, "2026-10-25T05:00:00Z"},
		{"02:30-04:00 Europe/Berlin", "2026-10-25T00:29:59Z", false, "2026-10-25T00:30:00Z"},
		{"02:30-04:00 Europe/Berlin", "2026-10-25T01:00:00Z", true, "2026-10-25T03:00:00Z"}, // 2:00 again
		{"22:00-02:30 Europe/Berlin", "2026-10-25T00:30:00Z", false, "2026-10-25T21:00:00Z"},
		{"22:00-02:30 Europe/Berlin", "2026-10-25T01:10:00Z", false, "2026-10-25T21:00:00Z"}, // 2:10 again
		{"02:10-02:20 Europe/Berlin", "2026-10-25T00:30:00Z", false, "2026-10-26T01:10:00Z"},
		// Clocks that change at midnight, and a day that was left out.
		{"Sun Africa/Cairo", "2026-04-24T12:00:00Z", false, "2026-04-25T21:00:00Z"},
		{"Fri Africa/Cairo", "2026-04-23T21:59:59Z", false, "2026-04-23T22:00:00Z"},
		{"Fri Pacific/Apia", "2011-12-30T09:00:00Z", false, "2012-01-05T10:00:00Z"},
	} {
		w := parse(t, c.window)
		now := at(t, c.now)
		if w.Open(now) != c.open || w.String() != c.window || w.IsZero() {
			t.Errorf("%s at %s: open %t", c.window, c.now, w.Open(now))
		}
		next := w.Next(now)
		switch {
		case c.next == "":
			if !next.IsZero() {
				t.Errorf("%s at %s: next %s, want never", c.window, c.now, next.UTC())
			}
		case !next.Equal(at(t, c.next)):
			t.Errorf("%s at %s: next %s, want %s", c.window, c.now, next.UTC(), c.next)
		}
	}
	none := window.Window{}
	if now := time.Now(); !none.Open(now) || !none.Next(now).IsZero() || !none.IsZero() || none.String() != "" {
		t.Error("no window is not always open")
	}
}

// TestNextIsWhenItChanges: Next is the first moment at which Open says something else, through the
// two nights in which clocks change.
func TestNextIsWhenItChanges(t *testing.T) {
	for _, text := range []string{
		"02:30-04:00 Europe/Berlin", "22:00-02:30 Europe/Berlin", "02:10-02:20 Europe/Berlin", "Sun 01:00-03:00 Europe/Berlin",
		"Mon-Fri 22:00-06:00; Sat 12:00-24:00; Sun 00:00-02:30 Europe/Berlin", "01:45-02:15 Australia/Lord_Howe",
	} {
		w := parse(t, text)
		for _, begin := range []string{"2026-03-26T00:00:00Z", "2026-10-23T00:00:00Z", "2026-04-02T00:00:00Z", "2026-10-01T00:00:00Z"} {
			now := at(t, begin)
			open, next := w.Open(now), w.Next(now)
			for end := now.Add(5 * 24 * time.Hour); now.Before(end); now = now.Add(5 * time.Minute) {
				if is := w.Open(now); is != open {
					if !now.Equal(next) {
						t.Errorf("%s: it changes at %s, and Next was %s", text, now, next.UTC())
					}
					open = is
				}
				next = w.Next(now)
			}
		}
	}
}

// TestEnd: work rests while the window is closed.
func TestEnd(t *testing.T) {
	for _, c := range []struct {
		window, now, work, end string
	}{
		{"22:00-06:00 UTC", "2026-11-21T23:00:00Z", "2h", "2026-11-22T01:00:00Z"},
		{"22:00-06:00 UTC", "2026-11-21T23:00:00Z", "7h", "2026-11-22T06:00:00Z"},
		{"22:00-06:00 UTC", "2026-11-21T23:00:00Z", "8h", "2026-11-22T23:00:00Z"},
		{"22:00-06:00 UTC", "2026-11-21T12:00:00Z", "20h", "2026-11-24T02:00:00Z"},
		{"Mon-Fri 22:00-06:00; Sat,Sun UTC", "2026-11-20T12:00:00Z", "52h", "2026-11-24T00:00:00Z"},
		{"Mon-Sun UTC", "2026-11-20T12:00:00Z", "50h", "2026-11-22T14:00:00Z"},
		{"22:00-06:00 UTC", "2026-11-21T12:00:00Z", "0s", "2026-11-21T22:00:00Z"},
	} {
		work, err := time.ParseDuration(c.work)
		if err != nil {
			t.Fatal(err)
		}
		if end := parse(t, c.window).End(at(t, c.now), work); !end.Equal(at(t, c.end)) {
			t.Errorf("%s of work at %s in %s: %s, want %s", c.work, c.now, c.window, end.UTC(), c.end)
		}
	}
	if w := parse(t, "22:00-06:00 UTC"); w.End(at(t, "2026-11-21T12:00:00Z"), 8*20*time.Hour) != at(t, "2026-12-11T06:00:00Z") {
		t.Errorf("20 nights: %s", w.End(at(t, "2026-11-21T12:00:00Z"), 8*20*time.Hour))
	}
	if end := parse(t, "Sun 02:00-02:01 UTC").End(at(t, "2026-11-21T12:00:00Z"), 1<<62); end.Before(at(t, "2100-01-01T00:00:00Z")) {
		t.Errorf("work without end: %s", end)
	}
	now := time.Now()
	if end := (window.Window{}).End(now, time.Hour); !end.Equal(now.Add(time.Hour)) {
		t.Errorf("without a window: %s", end)
	}
}

// TestWithin: the open time between two moments.
func TestWithin(t *testing.T) {
	for _, c := range []struct{ window, from, to, open string }{
		{"22:00-06:00 UTC", "2026-11-21T12:00:00Z", "2026-11-22T12:00:00Z", "8h0m0s"},
		{"22:00-06:00 UTC", "2026-11-21T23:00:00Z", "2026-11-22T01:30:00Z", "2h30m0s"},
		{"22:00-06:00 UTC", "2026-11-21T12:00:00Z", "2026-11-21T13:00:00Z", "0s"},
		{"22:00-06:00 UTC", "2026-11-21T23:00:00Z", "2026-11-21T22:00:00Z", "0s"},
		{"22:00-06:00 UTC", "2026-11-21T12:00:00Z", "2026-12-31T12:00:00Z", "320h0m0s"},
		{"22:00-06:00 Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z", "9h0m0s"},
		{"22:00-06:00 Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", "7h0m0s"},
	} {
		if open := parse(t, c.window).Within(at(t, c.from), at(t, c.to)); open.String() != c.open {
			t.Errorf("%s from %s to %s: %s, want %s", c.window, c.from, c.to, open, c.open)
		}
	}
	if now := time.Now(); (window.Window{}).Within(now, now.Add(time.Hour)) != time.Hour {
		t.Error("without a window")
	}
}

// TestFits: work fits if it is done before the window closes.
func TestFits(t *testing.T) {
	w := parse(t, "22:00-06:00 UTC")
	for now, fits := range map[string]bool{
		"2026-11-21T22:00:00Z": true, "2026-11-22T05:00:00Z": true, "2026-11-22T05:00:01Z": false, "2026-11-21T21:30:00Z": false,
	} {
		if w.Fits(at(t, now), time.Hour) != fits {
			t.Errorf("an hour at %s: %t", now, !fits)
		}
	}
	if !(window.Window{}).Fits(time.Now(), 1000*time.Hour) {
		t.Error("without a window")
	}
}

// TestMeets: two windows meet if both are open at one moment.
func TestMeets(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		meets bool
	}{
		{"22:00-06:00 UTC", "05:00-07:00 UTC", true},
		{"22:00-06:00 UTC", "06:00-07:00 UTC", false},
		{"Sat 22:00-06:00 UTC", "Sun 05:00-07:00 UTC", true},
		{"Sat 22:00-06:00 UTC", "Mon-Sat 05:00-07:00 UTC", false},
		{"22:00-06:00 Europe/Berlin", "21:00-21:30 UTC", true},
	} {
		if parse(t, c.a).Meets(parse(t, c.b), at(t, "2026-11-25T12:00:00Z")) != c.meets {
			t.Errorf("%s and %s: %t", c.a, c.b, !c.meets)
		}
	}
}

// TestOpening: a reason has the moment, and the time until then.
func TestOpening(t *testing.T) {
	for _, c := range []struct{ window, now, text string }{
		{"Mon-Fri 22:00-06:00 Europe/Berlin", "2026-11-23T17:48:00Z", "Mon 22:00 CET (in 3 h 12 min)"},
		{"22:00-06:00 UTC", "2026-11-23T21:59:30Z", "Mon 22:00 UTC (in 1 min)"},
		{"22:00-06:00 UTC", "2026-11-23T21:00:00Z", "Mon 22:00 UTC (in 1 h 0 min)"},
		{"Sat,Sun UTC", "2026-11-23T21:00:00Z", "Sat 00:00 UTC (in 4 d 3 h)"},
		{"Sat 10:00-11:00 UTC", "2026-11-21T11:00:00Z", "Sat 28 Nov 10:00 UTC (in 6 d 23 h)"},
	} {
		if text := parse(t, c.window).Opening(at(t, c.now)); text != c.text {
			t.Errorf("%s at %s: %q, want %q", c.window, c.now, text, c.text)
		}
	}
}

// TestBadWindows: an error says what is wrong, and shows how a window is written.
func TestBadWindows(t *testing.T) {
	for wrong, says := range map[string]string{
		"":                             "must be FROM-TO, such as 02:00-04:00",
		"02:00":                        "must be FROM-TO, such as 02:00-04:00",
		"2-4":                          `"2" must be a time between`,
		"25:00-04:00":                  `"25:00" must be a time between`,
		"24:00-04:00":                  `"24:00" must be a time between`,
		"02:00-04:60":                  `"04:60" must be a time between`,
		"02:00-02:00":                  "it ends when it begins; a complete day is 00:00-24:00",
		"02:00 - 04:00":                "must be FROM-TO, such as 02:00-04:00",
		"02:00-04:00 Atlantis":         "unknown time zone Atlantis",
		"02:00-04:00 Europe Berlin":    "unknown time zone Berlin",
		"Mon-Fry 02:00-04:00":          `unknown day "Fry"`,
		"Monday 02:00-04:00":           `unknown day "Monday"; days are Mon, Tue`,
		"Sat,,Sun":                     `unknown day ""`,
		"Sat, Sun 02:00-04:00":         "must be FROM-TO, such as 02:00-04:00",
		"Sat 02:00-04:00;":             "must be FROM-TO, such as 02:00-04:00",
		"02:00-04:00,12:00-13:00":      `"04:00,12:00-13:00" must be a time between`,
		"Sat UTC; Sun 02:00-04:00 UTC": "the time zone UTC must come at the end",
		"Sat 02:00-04:00 Sun UTC":      "must be FROM-TO, such as 02:00-04:00",
		"Europe/Berlin":                `unknown day "Europe/Berlin"`,
	} {
		w, err := window.Parse(wrong)
		if err == nil {
			t.Errorf("%q is taken for %v", wrong, w)
		} else if !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", wrong, err, says)
		}
	}
}
