package cutover

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones for machines without them
)

// Window is a part of every day during which the run may swap. The zero value is always open.
type Window struct {
	// from and to are times since midnight, by the clock on the wall. If to is before from, it is
	// on the next day.
	from, to time.Duration
	zone     *time.Location
	text     string
}

// errWindow shows the syntax of a window.
var errWindow = errors.New(
	"must be FROM-TO, such as 02:00-04:00; add a time zone if it is not this machine's: 22:30-04:00 Europe/Berlin",
)

// ParseWindow reads "02:00-04:00" or "22:30-04:00 Europe/Berlin". A window that ends before it
// begins continues after midnight. Without a zone, the window uses the local zone.
func ParseWindow(text string) (Window, error) {
	hours, zone, _ := strings.Cut(strings.TrimSpace(text), " ")
	begin, end, ok := strings.Cut(hours, "-")
	if !ok {
		return Window{}, errWindow
	}
	w := Window{zone: time.Local, text: strings.TrimSpace(text)}
	var err error
	if w.from, err = timeOfDay(begin); err != nil {
		return Window{}, err
	}
	if w.to, err = timeOfDay(end); err != nil {
		return Window{}, err
	}
	if w.from == w.to {
		return Window{}, errors.New("it ends as it begins")
	}
	if zone = strings.TrimSpace(zone); zone != "" {
		if w.zone, err = time.LoadLocation(zone); err != nil {
			return Window{}, fmt.Errorf("there is no time zone %s", zone)
		}
	}
	return w, nil
}

func timeOfDay(text string) (time.Duration, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, errWindow
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// String returns the text that the window was read from.
func (w Window) String() string { return w.text }

// IsZero reports whether the window is always open.
func (w Window) IsZero() bool { return w.zone == nil }

// Open reports whether now is in the window.
func (w Window) Open(now time.Time) bool {
	if w.IsZero() {
		return true
	}
	at := now.In(w.zone)
	clock := time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute + time.Duration(at.Second())*time.Second
	if w.from < w.to {
		return w.from <= clock && clock < w.to
	}
	return clock >= w.from || clock < w.to
}

// Next returns when the window opens next, if it is closed at now. If a change of the clocks skips
// the window's beginning, the window begins right after the skipped hour.
func (w Window) Next(now time.Time) time.Time {
	at := now.In(w.zone)
	for day := range 3 {
		next := time.Date(at.Year(), at.Month(), at.Day()+day, int(w.from.Hours()), int(w.from.Minutes())%60, 0, 0, w.zone)
		if next.After(now) {
			return next
		}
	}
	return now // no day is without its time
}
