package window

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"
	_ "time/tzdata" // zones for machines without them
)

// Window is the part of every week during which something may be done. The zero value is always
// open.
type Window struct {
	spans []span
	zone  *time.Location
	text  string
}

// span are hours of some weekdays.
type span struct {
	days [7]bool // by time.Weekday
	// from and to are times since midnight, by the clock on the wall. If to is not after from, it is
	// on the next day.
	from, to time.Duration
}

// period is the time from a moment until just before another.
type period struct{ from, to time.Time }

// horizon is how far ahead a window is examined, in days. A window of one night a week that a
// change of the clocks skips opens after two weeks.
const (
	horizon = 16
	ahead   = horizon * 24 * time.Hour
)

// String returns the text that the window was read from.
func (w Window) String() string { return w.text }

// IsZero reports whether no window was given, so that it is always open.
func (w Window) IsZero() bool { return w.zone == nil }

// Open reports whether now is in the window.
func (w Window) Open(now time.Time) bool {
	if w.IsZero() {
		return true
	}
	_, open := covering(w.periods(now, 1), now)
	return open
}

// Next returns when the window opens, if it is closed at now, or when it closes, if it is open. It
// returns the zero time if that is not soon: the window is always open.
func (w Window) Next(now time.Time) time.Time {
	if w.IsZero() {
		return time.Time{}
	}
	periods := w.periods(now, horizon)
	if at, open := covering(periods, now); open {
		if at.to.Sub(now) > (horizon-2)*24*time.Hour {
			return time.Time{}
		}
		return at.to
	}
	for _, p := range periods {
		if p.from.After(now) {
			return p.from
		}
	}
	return time.Time{}
}

// farthest is how far ahead End looks, in horizons: about two years.
const farthest = 50

// End returns when work that takes so long is done, if it begins at now and rests while the window
// is closed. For work of years, End is too early.
func (w Window) End(now time.Time, work time.Duration) time.Time {
	if w.IsZero() {
		return now.Add(work)
	}
	for range farthest {
		until := now.Add(ahead)
		for _, p := range w.between(now, until) {
			open := p.to.Sub(p.from)
			if work <= open {
				return p.from.Add(work)
			}
			work -= open
		}
		now = until
	}
	return now.Add(work)
}

// Stretch returns how long work takes from now on that takes so long while the window is open. A
// negative time stays as it is.
func (w Window) Stretch(now time.Time, work time.Duration) time.Duration {
	if w.IsZero() || work < 0 {
		return work
	}
	return w.End(now, work).Sub(now)
}

// Within returns for how long the window is open between two moments.
func (w Window) Within(from, to time.Time) (open time.Duration) {
	if w.IsZero() {
		return max(0, to.Sub(from))
	}
	for ; from.Before(to); from = from.Add(ahead) {
		for _, p := range w.between(from, earlier(to, from.Add(ahead))) {
			open += p.to.Sub(p.from)
		}
	}
	return open
}

// Periods are the times between two moments, which are at most a week apart, at which the window is
// open: each with its begin and its end, in their order.
func (w Window) Periods(from, to time.Time) iter.Seq2[time.Time, time.Time] {
	return func(yield func(begin, end time.Time) bool) {
		if w.IsZero() {
			yield(from, to)
			return
		}
		for _, p := range w.between(from, to) {
			if !yield(p.from, p.to) {
				return
			}
		}
	}
}

// between returns the periods between two moments, which are at most ahead apart.
func (w Window) between(from, to time.Time) (periods []period) {
	for _, p := range w.periods(from, horizon) {
		if p.from, p.to = later(p.from, from), earlier(p.to, to); p.from.Before(p.to) {
			periods = append(periods, p)
		}
	}
	return periods
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Fits reports whether the window is open for so long from now on.
func (w Window) Fits(now time.Time, work time.Duration) bool {
	return w.Open(now) && w.End(now, work).Equal(now.Add(work))
}

// Meets reports whether the window is open together with another one, at any time from now on.
func (w Window) Meets(other Window, now time.Time) bool {
	if w.IsZero() || other.IsZero() {
		return true
	}
	for _, a := range w.periods(now, horizon) {
		for _, b := range other.periods(now, horizon) {
			if later(later(a.from, b.from), now).Before(earlier(a.to, b.to)) {
				return true
			}
		}
	}
	return false
}

// Opening says when a window that is closed at now opens, as "Mon 22:00 CET (in 3 h 12 min)".
func (w Window) Opening(now time.Time) string {
	next := w.Next(now)
	if next.IsZero() {
		return "in more than two weeks"
	}
	return fmt.Sprintf("%s (in %s)", w.Clock(now, next), left(next.Sub(now)))
}

// Clock writes a moment as the window's clock shows it, as "Mon 22:00 CET", and with its date if
// that is needed to know the day.
func (w Window) Clock(now, at time.Time) string {
	layout := "Mon 15:04 MST"
	if at.Sub(now) > 6*24*time.Hour {
		layout = "Mon 2 Jan 15:04 MST"
	}
	if w.zone != nil {
		at = at.In(w.zone)
	}
	return at.Format(layout)
}

// left writes a duration in minutes, rounded up, so that it is never "0 min".
func left(d time.Duration) string {
	minutes := int((d + time.Minute - 1) / time.Minute)
	switch {
	case minutes < 60:
		return fmt.Sprintf("%d min", minutes)
	case minutes < 24*60:
		return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
	}
	return fmt.Sprintf("%d d %d h", minutes/60/24, minutes/60%24)
}

// covering returns the period that has now.
func covering(periods []period, now time.Time) (p period, is bool) {
	for _, p := range periods {
		if !now.Before(p.from) && now.Before(p.to) {
			return p, true
		}
	}
	return p, false
}

// periods are the times at which the window is open, from the day before now until so many days
// after it, in their order. Periods that touch are one.
func (w Window) periods(now time.Time, days int) []period {
	var all []period
	year, month, today := now.In(w.zone).Date()
	for day := today - 1; day <= today+days; day++ {
		date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC) // a date has a weekday in every zone
		for _, s := range w.spans {
			if !s.days[date.Weekday()] {
				continue
			}
			p := period{first(date.Add(s.from), w.zone), first(date.Add(s.until()), w.zone)}
			if p.from.Before(p.to) { // otherwise the clock skips it
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b period) int { return cmp.Or(a.from.Compare(b.from), a.to.Compare(b.to)) })
	var joined []period
	for _, p := range all {
		if last := len(joined) - 1; last >= 0 && !p.from.After(joined[last].to) {
			if p.to.After(joined[last].to) {
				joined[last].to = p.to
			}
			continue
		}
		joined = append(joined, p)
	}
	return joined
}

// until is the span's end, since the midnight before its beginning.
func (s span) until() time.Duration {
	if s.to <= s.from {
		return s.to + 24*time.Hour
	}
	return s.to
}

// first returns the first moment at which the clock of a zone shows a time or a later one. wall is
// that time, as if it were UTC.
func first(wall time.Time, zone *time.Location) time.Time {
	at := wall.Add(-36 * time.Hour).In(zone) // before it, in every zone
	for {
		_, offset := at.Zone()
		is := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		_, change := at.ZoneBounds()
		if change.IsZero() || is.Before(change) {
			if is.Before(at) {
				return at // the clock has just been put past it
			}
			return is
		}
		at = change
	}
}
