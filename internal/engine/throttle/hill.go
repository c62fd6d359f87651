package throttle

import "time"

// Workers is a number of workers: First at the beginning, and up to Most if more rows are copied then.
type Workers struct{ First, Most int }

// How the number of workers is found.
const (
	// hillFor is the time for which a number of workers is measured, and hillRested the same with
	// the rests of several cycles in it. At least hillChunks of each worker's chunks are in it.
	hillFor    = 2 * time.Second
	hillRested = 8 * time.Second
	hillChunks = 8
	// hillSettles is the time after a change that does not count: workers connect.
	hillSettles = 500 * time.Millisecond
	// hillWorth is the least growth of the rate, relative to the growth of the workers, that makes
	// more of them worth it: twice as many must copy a fifth more, or they mostly wait for each other.
	// Between hillWorth and hillSure, a number is measured twice, because rates vary by themselves.
	hillWorth = 0.2
	hillSure  = 0.5
	// hillPause is the time from a trial that did not help to the next one. It doubles up to hillPauseLong.
	hillPause     = 30 * time.Second
	hillPauseLong = 8 * time.Minute
)

// hill finds the number of workers by climbing: it tries a fourth more of them, at least one, and keeps
// them if the rate of rows grows. When that no longer helps, it tries a fifth less from time to time, and
// keeps that if the rate hardly falls. It holds still while the limits allow less than all workers,
// because the rate says nothing about their number then.
type hill struct {
	bounds Workers
	// room is the number of workers for which the server has connections. It bounds only what the
	// hill adds to the first ones.
	room    int
	workers int  // at work
	fewer   bool // the next trial is of fewer

	rate     mean // of the number that was found, in rows per second
	before   int  // the number that a trial goes back to; 0: no trial
	tried    mean // the rate of a trial
	next     time.Time
	pausing  time.Duration
	rested   bool      // the rates have rests in them
	since    time.Time // the start of a measurement, or zero
	last     time.Time // when rows came
	measured int64     // rows since the start
}

// mean is the mean of the last few values.
type mean struct{ value, n float64 }

func (m *mean) add(value float64) {
	m.n = min(4, m.n+1)
	m.value += (value - m.value) / m.n
}

// bound takes other bounds. It keeps the number that was found, if it is within them.
func (h *hill) bound(bounds Workers, room int) {
	if h.bounds == bounds && h.room == room {
		return
	}
	h.bounds, h.room = bounds, room
	if within := min(max(h.workers, bounds.First), h.most()); within != h.workers {
		h.workers, h.before, h.rate, h.since = within, 0, mean{}, time.Time{}
	}
}

func (h *hill) most() int { return max(h.bounds.First, min(h.bounds.Most, h.room)) }

// hold forgets a measurement that has begun.
func (h *hill) hold() { h.since = time.Time{} }

// copied records a chunk of so many rows. It ends a measurement whose time is over, and may change the
// number of workers. rested means that the workers rest now and then.
func (h *hill) copied(rows int, took time.Duration, rested bool, now time.Time) {
	if rested != h.rested { // rates with rests can't be compared with rates without
		h.giveUp()
		h.rested, h.rate, h.since = rested, mean{}, time.Time{}
	}
	long := hillFor
	if rested {
		long = hillRested
	}
	long = max(long, hillChunks*took)
	waited := now.Sub(h.last) > max(time.Second, 2*took) // for a gate
	h.last = now
	if h.since.IsZero() || waited {
		h.since, h.measured = now.Add(hillSettles), 0
	}
	over := now.Sub(h.since)
	if over > 0 {
		h.measured += int64(rows)
	}
	if over >= long {
		rate := float64(h.measured) / over.Seconds()
		h.since, h.measured = now, 0
		h.judge(rate, now)
	}
}

// judge takes a measured rate into account.
func (h *hill) judge(rate float64, now time.Time) {
	if h.before == 0 {
		h.rate.add(rate)
		if !now.Before(h.next) {
			h.try()
		}
		return
	}
	h.tried.add(rate)
	workers := float64(h.workers)/float64(h.before) - 1
	gain := (h.tried.value/max(1, h.rate.value) - 1) / workers
	if gain >= hillWorth && gain < hillSure && h.tried.n == 1 {
		return
	}
	if better := (gain >= hillWorth) == (workers > 0); !better {
		h.giveUp()
		h.fewer = !h.fewer
		h.pausing = min(hillPauseLong, max(hillPause, 2*h.pausing))
		h.next = now.Add(h.pausing)
		return
	}
	h.rate, h.before, h.pausing = h.tried, 0, 0
	h.try()
}

// try begins a trial of another number. If the bounds leave none in one direction, it takes the other.
func (h *hill) try() {
	more, fewer := min(h.most(), h.workers+max(1, h.workers/4)), max(h.bounds.First, h.workers-max(1, h.workers/5))
	if h.fewer = h.fewer && fewer < h.workers || more == h.workers; h.fewer {
		more = fewer
	}
	if more != h.workers {
		h.before, h.workers, h.tried, h.since = h.workers, more, mean{}, time.Time{}
	}
}

// giveUp ends a trial: the number is that of before.
func (h *hill) giveUp() {
	if h.before > 0 {
		h.workers, h.before, h.since = h.before, 0, time.Time{}
	}
}
