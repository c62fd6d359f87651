package forecast

import (
	"time"

	"midstream/internal/engine/window"
)

// Calendar is when work is allowed, and how fast it is then. Work is measured by the time that it
// takes at the speed of an idle server. The zero value is always open, at that speed.
type Calendar struct {
	Hours window.Window
	Loads Profile
	// Sensitivity is how much longer work takes on a server at its peak: 10 means that a load of
	// 50 % makes it take 6 times as long.
	Sensitivity float64
}

// slowness is how many times as long work takes at a moment as on an idle server.
func (c Calendar) slowness(at time.Time) float64 {
	return 1 + c.Sensitivity*c.Loads.Load(at)
}

// Idling returns how long an idle server needs for the work that takes so long at the load of now.
func (c Calendar) Idling(now time.Time, takes time.Duration) time.Duration {
	return time.Duration(float64(takes) / c.slowness(now))
}

// week is the time after which the loads repeat.
const week = 7 * 24 * time.Hour

// End returns when work is done that begins at now, and rests while the window is closed.
func (c Calendar) End(now time.Time, work time.Duration) time.Time {
	if c.Loads.IsZero() {
		return c.Hours.End(now, work)
	}
	for range 2 * mostWeeks {
		until, done := now.Add(week), time.Duration(0)
		for _, h := range c.stretches(now, until) {
			if work <= h.work {
				return h.from.Add(time.Duration(float64(work) * h.slowness))
			}
			work -= h.work
			done += h.work
		}
		now = until
		if done > 0 && work > 2*done { // weeks are alike
			weeks := min(work/done-1, mostWeeks)
			work -= weeks * done
			now = now.Add(weeks * week)
			if weeks == mostWeeks {
				return now
			}
		}
	}
	return now
}

// mostWeeks bounds End.
const mostWeeks = 2000

// Within returns the work that fits between two moments.
func (c Calendar) Within(from, to time.Time) (work time.Duration) {
	if c.Loads.IsZero() {
		return c.Hours.Within(from, to)
	}
	for ; from.Before(to); from = from.Add(week) {
		until := from.Add(week)
		if until.After(to) {
			until = to
		}
		for _, h := range c.stretches(from, until) {
			work += h.work
		}
	}
	return work
}

// stretch is a time of one load in which the window is open.
type stretch struct {
	from     time.Time
	work     time.Duration
	slowness float64
}

// stretches are those between two moments, which are at most a week apart, in their order.
func (c Calendar) stretches(from, to time.Time) (all []stretch) {
	for begin, end := range c.Hours.Periods(from, to) {
		for at := begin; at.Before(end); {
			next := c.Loads.next(at)
			if next.After(end) {
				next = end
			}
			slow := c.slowness(at)
			all = append(all, stretch{at, time.Duration(float64(next.Sub(at)) / slow), slow})
			at = next
		}
	}
	return all
}
