package cutover

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones are known where the machine has none
)

// Window is a time of the day in which a swap may be made, every day. The zero value is always open.
type Window struct {
	from, to time.Duration // since midnight, by the clock on the wall; to is after from, or on the next day
	zone     *time.Location
	text     string
}

// errWindow says how a window is written.
var errWindow = errors.New(
	"it is written as 02:00-04:00, with a time zone behind it if that is not this machine's: 22:30-04:00 Europe/Berlin",
)

// ParseWindow reads "02:00-04:00" or "22:30-04:00 Europe/Berlin". One that ends before it begins goes
// on after midnight. Without a zone it is the local one.
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

// String is the window as it was written.
func (w Window) String() string { return w.text }

// IsZero says that the window is always open.
func (w Window) IsZero() bool { return w.zone == nil }

// Open says whether a moment lies in the window.
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

// Next is when the window opens next, after a moment at which it is closed. An hour that a
// change of the clocks leaves out begins where they go on.
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
