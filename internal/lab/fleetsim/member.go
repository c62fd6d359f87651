package fleetsim

import (
	"time"

	"midstream/internal/fleet/rollout"
)

// member is a server, and the run on it.
type member struct {
	w       *world
	i, wave int
	server  string
	labels  map[string]string
	outcome rollout.Outcome

	obeyed    uint64
	version   uint64
	attempt   int
	status    rollout.Status
	temporary bool
	changed   bool // it has the change
	undo      bool // the attempt is an undo
	wasReady  bool // in this attempt
	everReady bool // in any attempt
	shown     bool // it had been ready when a person released what is ready
	released  bool
	until     time.Time
	committed bool
	round     int
	lockUntil time.Time
	at        time.Time // of the next thing that it does by itself; zero for nothing
	hadFailed bool      // after it was ready
}

// active reports whether a run is at work: it counts for the limits.
func (m *member) active() bool {
	return m.status == rollout.StatusRunning || m.status == rollout.StatusUndoing || m.status == rollout.StatusWaiting
}

func (m *member) become(s rollout.Status, after time.Duration) {
	m.status = s
	m.version++
	m.at = time.Time{}
	if after > 0 {
		m.at = m.w.now.Add(after)
	}
	m.w.trace("%s is %s (attempt %d, order %d)", m.server, s, m.attempt, m.obeyed)
	if m.active() {
		m.w.lawLimits()
	}
	if m.w.IntN(3) > 0 {
		m.tell()
	}
}

// tell sends the member's state to the driver.
func (m *member) tell() {
	w := m.w
	if m.version == 0 || w.fault(w.o.Lose) {
		return
	}
	if w.IntN(8) == 0 {
		m.version++ // the same, with another reason
	}
	r := rollout.Report{Server: m.server, Version: m.version, Order: m.obeyed, Attempt: m.attempt, Status: m.status, Temporary: m.temporary}
	if m.status == rollout.StatusPrepared {
		r.Round, r.Hold = m.round, w.set.Swap.Hold
	}
	w.reports = append(w.reports, message{w.way(), r})
	if w.fault(w.o.Double) {
		w.reports = append(w.reports, message{w.way(), r})
	}
}

func (m *member) minutes(most int) time.Duration {
	return time.Duration(1+m.w.IntN(most*60000)) * time.Millisecond
}

// obey carries out an order, unless it has had a newer one.
func (m *member) obey(a rollout.Action) {
	w := m.w
	if a.Order <= m.obeyed {
		return
	}
	w.trace("%s gets %s, order %d", m.server, a.Verb, a.Order)
	m.obeyed = a.Order
	m.version++
	ready := m.status == rollout.StatusReady || m.status == rollout.StatusPrepared
	switch a.Verb {
	case rollout.VerbStart:
		w.lawStart(m, a)
		m.attempt, m.undo, m.wasReady, m.released, m.committed = a.Attempt, false, false, false, false
		if w.IntN(3) == 0 {
			m.become(rollout.StatusWaiting, m.minutes(2))
		} else {
			m.become(rollout.StatusRunning, m.minutes(20))
		}
	case rollout.VerbRelease:
		if ready {
			m.released, m.until = true, a.Until
			m.at = w.now.Add(m.minutes(1))
		}
	case rollout.VerbHold:
		m.released, m.committed = false, false
		if m.status == rollout.StatusPrepared {
			m.become(rollout.StatusReady, 0)
		}
		m.at = time.Time{}
	case rollout.VerbPrepare:
		if ready && (w.calm || w.IntN(4) > 0) {
			m.round, m.lockUntil = a.Round, w.now.Add(w.set.Swap.Hold)
			m.become(rollout.StatusPrepared, w.set.Swap.Hold)
		}
	case rollout.VerbCommit:
		m.committed = ready
		switch {
		case m.status == rollout.StatusPrepared && w.now.Before(m.lockUntil) && w.IntN(20) > 0:
			m.swap()
		case ready: // it asks for the lock again, first and alone
			m.become(rollout.StatusReady, m.minutes(1))
		}
	case rollout.VerbWithdraw:
		if m.attempt < a.Attempt || m.status == rollout.StatusWaiting {
			m.attempt = a.Attempt
			m.become(rollout.StatusWithdrawn, 0)
		}
	case rollout.VerbAbort:
		switch {
		case m.attempt < a.Attempt || m.status == rollout.StatusWaiting:
			m.attempt = a.Attempt
			m.become(rollout.StatusWithdrawn, 0)
		case m.status == rollout.StatusRunning || ready:
			m.become(rollout.StatusAborted, 0)
		}
	case rollout.VerbCheck:
		m.resolve()
	case rollout.VerbUndo:
		w.lawUndo(m, a)
		m.attempt, m.undo = a.Attempt, true
		m.become(rollout.StatusUndoing, m.minutes(5))
	}
	if w.IntN(3) > 0 {
		m.tell()
	}
}

// resolve looks at the tables of a run whose result is not known.
func (m *member) resolve() {
	switch {
	case m.status != rollout.StatusUnknown:
	case m.changed:
		m.become(rollout.StatusDone, 0)
	case m.undo:
		m.become(rollout.StatusUndone, 0)
	default:
		m.fail(true)
	}
}

func (m *member) fail(temporary bool) {
	m.temporary, m.hadFailed = temporary, m.hadFailed || m.committed || m.wasReady
	m.become(rollout.StatusFailed, 0)
}

// misfortune lets a run end in another way than with success. It reports whether it did.
func (m *member) misfortune() bool {
	switch w := m.w; {
	case w.fault(w.o.Fail):
		m.fail(false)
	case w.fault(w.o.Pass):
		m.fail(true)
	case w.fault(w.o.Unclear):
		m.become(rollout.StatusUnknown, 0)
	default:
		return false
	}
	return true
}

// work does what the member does by itself, if its time has come.
func (m *member) work() {
	if m.at.IsZero() || m.w.now.Before(m.at) {
		return
	}
	m.at = time.Time{}
	switch m.status {
	case rollout.StatusWaiting:
		m.become(rollout.StatusRunning, m.minutes(20))
	case rollout.StatusRunning:
		if !m.misfortune() {
			m.wasReady, m.everReady = true, true
			m.become(rollout.StatusReady, 0)
		}
	case rollout.StatusPrepared: // the lock goes unasked
		m.become(rollout.StatusReady, 0)
		if m.committed {
			m.at = m.w.now.Add(m.minutes(1))
		}
	case rollout.StatusReady:
		if m.committed || m.released && (m.until.IsZero() || m.w.now.Before(m.until)) {
			m.swap()
		}
	case rollout.StatusUndoing:
		if m.w.fault(m.w.o.Unclear) {
			m.changed = m.w.IntN(2) == 0
			m.become(rollout.StatusUnknown, 0)
		} else if !m.misfortune() {
			m.changed = false
			m.become(rollout.StatusUndone, 0)
		}
	}
}

// swap gives the member the change, or fails.
func (m *member) swap() {
	w := m.w
	unclear := w.fault(w.o.Unclear)
	if (!unclear || w.IntN(2) == 0) && m.misfortune() {
		return
	}
	w.lawSwap(m)
	m.changed = true
	if unclear {
		m.become(rollout.StatusUnknown, 0)
	} else {
		m.become(rollout.StatusDone, 0)
	}
}
