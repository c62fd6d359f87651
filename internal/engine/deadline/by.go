package deadline

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones for machines without them
)

// By is a moment: a time of day, or a time on a date. The zero value is none.
type By struct {
	text string
	// at is the moment, if the text has a date. Otherwise hour and minute are a time of day.
	at           time.Time
	hour, minute int
	zone         *time.Location
}

// errBy shows the syntax of a By.
var errBy = errors.New(
	"it is a time of day, such as 06:00 or '06:00 Europe/Berlin', or a time on a date, " +
		"such as '2026-11-27 06:00 Europe/Berlin' or 2026-11-27T06:00:00+01:00",
)

// ParseBy reads "06:00", "2026-11-27 06:00", both of them with a time zone behind, or RFC 3339.
// Without a zone, it is the local one.
func ParseBy(text string) (By, error) {
	text = strings.TrimSpace(text)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return By{text: text, at: at, zone: at.Location()}, nil
	}
	words := strings.Fields(text)
	date, dated := time.Time{}, false
	if len(words) > 0 {
		if on, err := time.Parse(time.DateOnly, words[0]); err == nil {
			date, dated, words = on, true, words[1:]
		}
	}
	if len(words) == 0 || len(words) > 2 {
		return By{}, errBy
	}
	clock, err := time.Parse("15:04", words[0])
	if err != nil {
		return By{}, errBy
	}
	by := By{text: text, hour: clock.Hour(), minute: clock.Minute(), zone: time.Local}
	if len(words) == 2 {
		if by.zone, err = time.LoadLocation(words[1]); err != nil {
			return By{}, fmt.Errorf("unknown time zone %s; an example is Europe/Berlin", words[1])
		}
	}
	if dated {
		by.at = by.on(date.Year(), date.Month(), date.Day())
	}
	return by, nil
}

// String returns the text that the moment was read from.
func (b By) String() string { return b.text }

// IsZero reports whether there is none.
func (b By) IsZero() bool { return b.text == "" }

// At returns the moment: a time of day is the next one after from.
func (b By) At(from time.Time) time.Time {
	if !b.at.IsZero() || b.IsZero() {
		return b.at
	}
	today := from.In(b.zone)
	for day := range 3 {
		if at := b.on(today.Year(), today.Month(), today.Day()+day); at.After(from) {
			return at
		}
	}
	return from // no day is without its time
}

// Fixed returns the same moment with its date, so that it does not depend on when At is asked.
func (b By) Fixed(from time.Time) By {
	if !b.at.IsZero() || b.IsZero() {
		return b
	}
	b.at = b.At(from)
	zone := ""
	if b.zone != time.Local {
		zone = " " + b.zone.String()
	}
	b.text = b.at.Format("2006-01-02 15:04") + zone
	return b
}

// on returns the time of day on a date. If the clocks show it twice on that day, it is the first
// time. If they skip it, it is the moment of the skip. So a deadline is never later than meant.
func (b By) on(year int, month time.Month, day int) time.Time {
	shown := time.Date(year, month, day, b.hour, b.minute, 0, 0, time.UTC)
	_, before := shown.Add(-24 * time.Hour).In(b.zone).Zone()
	_, after := shown.Add(24 * time.Hour).In(b.zone).Zone()
	first := shown.Add(-time.Duration(max(before, after)) * time.Second).In(b.zone)
	second := shown.Add(-time.Duration(min(before, after)) * time.Second).In(b.zone)
	for _, at := range []time.Time{first, second} {
		if at.Hour() == b.hour && at.Minute() == b.minute {
			return at
		}
	}
	skipped, _ := second.ZoneBounds()
	return skipped
}

// Terms are what an operator has asked for.
type Terms struct {
	// Within is the time from the first start of the change; 0 means none.
	Within time.Duration
	// By is the moment; the zero value means none.
	By By
	// AtMost is the highest share by which the application's statements may take longer. +Inf means
	// that there is no limit. Defaults to 0.5.
	AtMost float64
}

// At returns the deadline of a change that began at a time: the earlier one, if there are two. It is
// zero if there is none.
func (t Terms) At(began time.Time) time.Time {
	at := t.By.At(began)
	if t.Within > 0 {
		if within := began.Add(t.Within); at.IsZero() || within.Before(at) {
			at = within
		}
	}
	return at
}

// DefaultAtMost is the default of Terms.AtMost.
const DefaultAtMost = 0.5
