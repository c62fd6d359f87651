package fleetsim

import (
	"fmt"

	"midstream/internal/fleet/rollout"
)

// The laws. Each has a test of the core that breaks it (mutations_test.go).
const (
	lawLimits  = "limits are never exceeded by what members really do"
	lawWaves   = "no member of a wave starts before the wave before has swapped, soaked and been approved"
	lawStop    = "after the stop rule no new member starts"
	lawTwice   = "nothing is done twice"
	lawFrozen  = "in a freeze or outside of a window nothing starts and nothing swaps"
	lawUndo    = "an undo goes in reverse order"
	lawEnds    = "a rollout ends once the faults have stopped"
	lawGate    = "a gated wave releases no member until all are ready"
	lawBarrier = "a barrier is all or none, by a durable decision"
	lawResult  = "a set that has ended names exactly the members that have the change"
	lawRelease = "a member that waits for a person's release does not swap without it"
	lawCancel  = "a set that is cancelled or ended starts nothing and releases nothing"
	lawPlan    = "no member starts before the fleet plan fits it"
)

// Violation is a broken law, with what repeats the run.
type Violation struct {
	Law, What string
	Seed      uint64
	Options   Options
	Step      int
}

// broken ends the run.
func (w *world) broken(law, format string, args ...any) {
	panic(&Violation{Law: law, What: fmt.Sprintf(format, args...), Step: w.step, Options: w.o})
}

// lawLimits counts the members at work.
func (w *world) lawLimits() {
	n, host, cell := 0, map[string]int{}, map[string]int{}
	for _, m := range w.members {
		if m.active() {
			n++
			host[m.labels["host"]]++
			cell[m.labels["cell"]]++
			l := w.set.Limits
			if l.All > 0 && n > l.All || l.PerHost > 0 && host[m.labels["host"]] > l.PerHost || l.PerCell > 0 && cell[m.labels["cell"]] > l.PerCell {
				w.broken(lawLimits, "%d at work, %v, %v; limits %+v", n, host, cell, l)
			}
		}
	}
}

// lawStart: an attempt begins once, and not on a member at work or with the change.
func (w *world) lawStart(m *member, a rollout.Action) {
	w.passed.Starts++
	if a.Attempt <= m.attempt || m.active() || m.changed || m.status == rollout.StatusReady || m.status == rollout.StatusPrepared {
		w.broken(lawTwice, "%s is %s in attempt %d, has the change: %t; a start of attempt %d", m.server, m.status, m.attempt, m.changed, a.Attempt)
	}
}

// lawSwap is asked at the moment of a swap.
func (w *world) lawSwap(m *member) {
	w.passed.Swaps++
	known, wave := &w.stored.Waves[m.wave], &w.waves[m.wave]
	if m.changed {
		w.broken(lawTwice, "%s swaps twice", m.server)
	}
	switch w.set.Swap.When {
	case rollout.WhenBarrier:
		if !known.Open {
			w.broken(lawBarrier, "%s swaps without a decision", m.server)
		}
	case rollout.WhenWaveReady:
		if !known.Open {
			w.broken(lawGate, "%s swaps before the gate of %s is open", m.server, known.Name)
		}
	case rollout.WhenReleased:
		if !w.asked(func(r ask) bool {
			switch {
			case r.Ask != rollout.AskRelease:
				return false
			case r.Server == "" && r.Wave == "": // a person releases what is ready
				return m.shown
			}
			return (r.Server == "" || r.Server == m.server) && (r.Wave == "" || r.Wave == known.Name)
		}) {
			w.broken(lawRelease, "%s swaps", m.server)
		}
	}
	if w.o.Jump == 0 && !m.committed && !w.set.Swap.Window.Open(w.now) {
		w.broken(lawFrozen, "%s swaps at %s, outside of %s", m.server, w.now, w.set.Swap.Window)
	}
	wave.swaps++
	wave.lastSwap, wave.lastForward = w.now, w.forward
}

// lawUndo is asked as an undo begins.
func (w *world) lawUndo(m *member, a rollout.Action) {
	w.passed.Undos++
	if !m.changed || a.Attempt <= m.attempt || m.status == rollout.StatusUndoing {
		w.broken(lawTwice, "undo of %s, which is %s in attempt %d, has the change: %t", m.server, m.status, m.attempt, m.changed)
	}
	for i, other := range w.members {
		if s := w.stored.Members[i]; other.wave > m.wave && other.changed && s.Undo && s.Step != rollout.StepSkipped {
			w.broken(lawUndo, "%s of wave %d is undone, and %s of wave %d has the change", m.server, m.wave, other.server, other.wave)
		}
	}
}

// lawDecision holds what the core decides against what is really so.
func (w *world) lawDecision(before, after rollout.State, f rollout.Facts, actions []rollout.Action) {
	failed := 0
	for i := range after.Members {
		m := &after.Members[i]
		if before.Phase == rollout.PhaseChecking && m.Step == rollout.StepFailed {
			w.broken(lawPlan, "the set begins, and %s is %s", m.Server, m.Outcome)
		}
		if m.Step == rollout.StepFailed {
			failed++
		}
		atWork := after.Phase == rollout.PhaseRunning || after.Phase == rollout.PhaseStopped
		closed := m.Last.Verb == rollout.VerbRelease && !w.set.Swap.Window.Open(f.Now)
		if m.Step == rollout.StepReleased && atWork && (w.frozen(m, f) || closed) {
			w.broken(lawFrozen, "%s stays released", m.Server)
		}
	}
	for i := range after.Waves {
		if after.Waves[i].Phase == rollout.WavePassed && before.Waves[i].Phase != rollout.WavePassed {
			w.lawPassed(i, before, after, f)
		}
		if after.Waves[i].Open && !before.Waves[i].Open {
			w.lawOpen(i, after, f)
		}
	}
	finished := 0
	for _, a := range actions {
		if a.Verb == rollout.VerbFinish {
			finished++
			continue
		}
		m := w.byName[a.Server]
		was, is := &before.Members[m.i], &after.Members[m.i]
		if a.Order <= was.Last.Order {
			w.broken(lawTwice, "%s has the number of an earlier order", a.Key())
		}
		w.lawAction(a, was, is, after, f, failed)
	}
	if ended := after.Phase.Ended() && before.Phase != after.Phase; ended != (finished == 1) {
		w.broken(lawTwice, "%d times finish; the set was %s and is %s", finished, before.Phase, after.Phase)
	} else if ended {
		w.lawEnd(after)
	}
}

// lawAction is about one action.
func (w *world) lawAction(a rollout.Action, was, is *rollout.Member, after rollout.State, f rollout.Facts, failed int) {
	atWork := after.Phase == rollout.PhaseRunning || after.Phase == rollout.PhaseStopped
	switch a.Verb {
	case rollout.VerbStart:
		isNew := was.Step == rollout.StepPlanned && !is.Again
		switch {
		case !atWork:
			w.broken(lawCancel, "%s starts; the set is %s", a.Server, after.Phase)
		case isNew && (failed >= w.o.Stop || after.Phase == rollout.PhaseStopped):
			w.broken(lawStop, "%s starts after %d failures", a.Server, failed)
		case w.frozen(is, f) || !w.set.Start.Open(f.Now):
			w.broken(lawFrozen, "%s starts", a.Server)
		case is.Outcome != rollout.OutcomeFit:
			w.broken(lawPlan, "%s starts: %s", a.Server, is.Outcome)
		}
		for i := range is.Wave {
			if after.Waves[i].Phase != rollout.WavePassed {
				w.broken(lawWaves, "%s of wave %d starts; wave %d is %s", a.Server, is.Wave, i, after.Waves[i].Phase)
			}
		}
	case rollout.VerbRelease, rollout.VerbPrepare, rollout.VerbCommit:
		decided := a.Verb == rollout.VerbCommit && w.stored.Waves[is.Wave].Open // before: only a freeze has held the member since
		if !atWork && !decided {
			w.broken(lawCancel, "%s gets %s; the set is %s", a.Server, a.Verb, after.Phase)
		}
		if w.frozen(is, f) || !decided && !w.set.Swap.Window.Open(f.Now) {
			w.broken(lawFrozen, "%s gets %s", a.Server, a.Verb)
		}
	case rollout.VerbUndo:
		if w.frozen(is, f) {
			w.broken(lawFrozen, "%s gets %s", a.Server, a.Verb)
		}
		for i := range after.Members {
			o := &after.Members[i]
			if o.Undo && o.Step == rollout.StepDone && (o.Wave > is.Wave || o.Wave == is.Wave && o.Swapped > is.Swapped) {
				w.broken(lawUndo, "%s before %s", a.Server, o.Server)
			}
		}
	case rollout.VerbWithdraw:
		w.passed.Recalls++
	case rollout.VerbHold:
		w.passed.Holds++
	}
}

// frozen is written again here: the law must not ask the core.
func (w *world) frozen(m *rollout.Member, f rollout.Facts) bool {
	for _, z := range f.Freezes {
		over := !z.Until.IsZero() && !f.Now.Before(z.Until)
		of := z.Server == m.Server || z.Server == "" && (z.Selector.IsZero() || z.Selector.Matches(w.byName[m.Server].labels))
		if !over && of {
			return true
		}
	}
	return false
}

// lawPassed is asked when a wave has passed.
func (w *world) lawPassed(i int, before, after rollout.State, f rollout.Facts) {
	wave, real := w.set.Waves[i], w.waves[i]
	good, failed := 0, 0
	for _, m := range w.members {
		if m.wave != i {
			continue
		}
		switch s := after.Members[m.i].Step; {
		case s == rollout.StepSkipped:
		case m.changed || s == rollout.StepApplied:
			good++
		case s == rollout.StepFailed:
			failed++
		default:
			w.broken(lawWaves, "wave %d has passed, and %s is %s, really %s", i, m.server, s, m.status)
		}
	}
	if failed > 0 && good == 0 {
		w.broken(lawStop, "wave %d has passed, and all its members have failed", i)
	}
	if real.swaps == 0 {
		return
	}
	forward := w.forward
	if d := f.Now.Sub(before.Now); d > 0 && !before.Now.IsZero() {
		forward += d
	}
	if forward-real.lastForward < wave.Soak || w.o.Jump == 0 && w.now.Sub(real.lastSwap) < wave.Soak {
		w.broken(lawWaves, "wave %d has soaked for %s, or %s, of %s", i, forward-real.lastForward, w.now.Sub(real.lastSwap), wave.Soak)
	}
	if wave.Approve && !w.asked(func(r ask) bool {
		return r.Ask == rollout.AskApprove && r.Wave == wave.Name && (r.By == "bert" || r.By == "carl" && wave.Approvers == nil) && !r.at.Before(real.lastSwap)
	}) {
		w.broken(lawWaves, "wave %d has passed without an approval that counts", i)
	}
}

// lawOpen is asked when a gate opens, or a barrier decides.
func (w *world) lawOpen(i int, after rollout.State, f rollout.Facts) {
	for _, m := range w.members {
		s := after.Members[m.i].Step
		if m.wave == i && s != rollout.StepSkipped && s != rollout.StepApplied && !m.wasReady {
			w.broken(lawGate, "wave %d is open, and %s is %s", i, m.server, m.status)
		}
	}
	if w.o.Swap == 3 && w.o.Jump == 0 {
		for _, m := range w.members {
			holds := m.round == after.Waves[i].Round && w.now.Before(m.lockUntil)
			if m.wave == i && after.Members[m.i].Step == rollout.StepReleased && !holds {
				w.broken(lawBarrier, "wave %d is decided, and %s does not hold its lock", i, m.server)
			}
		}
	}
}

// lawEnd is asked when the set has ended.
func (w *world) lawEnd(after rollout.State) {
	changed, unknown := map[string]bool{}, map[string]bool{}
	result := after.Result()
	for _, name := range result.Changed {
		changed[name] = true
	}
	for _, name := range result.Unknown {
		unknown[name] = true
	}
	if n := len(result.Changed) + len(result.Unchanged) + len(result.Unknown); n != len(w.members) {
		w.broken(lawResult, "%d of %d members", n, len(w.members))
	}
	for _, m := range w.members {
		s := after.Members[m.i]
		has := m.changed || s.Step == rollout.StepApplied
		if !unknown[m.server] && has != changed[m.server] {
			w.broken(lawResult, "%s has the change: %t; it is %s, and %s by the state", m.server, has, m.status, s.Step)
		}
		if m.active() || !unknown[m.server] && (m.status == rollout.StatusReady || m.status == rollout.StatusPrepared) {
			w.broken(lawResult, "the set has ended, and %s is %s", m.server, m.status)
		}
		if open := after.Waves[m.wave].Open; w.o.Swap == 3 && after.Phase != rollout.PhaseUndone {
			// A member that has failed after the decision may be ended by a person, and the result names it.
			if !open && m.changed || open && !m.hadFailed && (s.Step == rollout.StepWithdrawn || s.Step == rollout.StepPlanned) {
				w.broken(lawBarrier, "the wave of %s is decided: %t; it has the change: %t, and is %s", m.server, open, m.changed, s.Step)
			}
		}
	}
}
