package fleetsim

import (
	"encoding/json"
	"reflect"
	"slices"

	"midstream/internal/fleet/rollout"
)

// drive is a turn of the driver: facts, Next, store, act. It may die between any two of them.
func (w *world) drive() {
	if !w.alive {
		if w.calm || w.IntN(3) == 0 {
			w.restart()
		}
		return
	}
	f := w.facts()
	next, actions := rollout.Next(w.set, w.stored, f)
	w.lawDecision(w.stored, next, f, actions)
	if w.IntN(16) == 0 {
		w.lawRepeatable(next, f)
	}
	if w.fault(w.o.Crash) {
		w.die("before it has stored")
		return
	}
	if d := f.Now.Sub(w.stored.Now); d > 0 && !w.stored.Now.IsZero() {
		w.forward += d
	}
	w.note(next)
	w.show(next)
	w.stored = next
	for _, a := range actions {
		if w.fault(w.o.Crash) {
			w.die("after it has stored, before an action")
			return
		}
		w.trace("driver: %s %s, order %d", a.Verb, a.Server, a.Order)
		w.send(a)
	}
}

// note counts what the new state has.
func (w *world) note(next rollout.State) {
	if next.Phase != w.stored.Phase {
		w.trace("driver: the set is %s; %s", next.Phase, next.Why)
		if next.Phase == rollout.PhaseStopped {
			w.passed.Stops++
		}
		if next.Phase.Ended() {
			w.passed.Ended++
		}
	}
	for i := range next.Waves {
		a, b := w.stored.Waves[i], next.Waves[i]
		if a.Phase != b.Phase {
			w.trace("driver: wave %s is %s", b.Name, b.Phase)
		}
		if b.Open && !a.Open {
			w.trace("driver: wave %s is open", b.Name)
			if w.set.Swap.When == rollout.WhenBarrier {
				w.passed.Barriers++
			} else {
				w.passed.Gates++
			}
		}
	}
}

// show notes the members that had been ready when a person released what is ready.
func (w *world) show(next rollout.State) {
	for _, r := range w.requests[w.stored.Handled:next.Handled] {
		for _, m := range w.members {
			m.shown = m.shown || m.everReady && r.Ask == rollout.AskRelease && r.Wave == "" && r.Server == ""
		}
	}
}

func (w *world) die(when string) {
	w.alive = false
	w.passed.Crashes++
	w.trace("driver: dies %s", when)
}

// restart begins a driver with the stored state: with what is left of it in JSON.
func (w *world) restart() {
	w.alive = true
	w.trace("driver: starts")
	if w.IntN(4) == 0 {
		text, err := json.Marshal(w.stored)
		var again rollout.State
		if err == nil {
			err = json.Unmarshal(text, &again)
		}
		if err != nil || !reflect.DeepEqual(again.Members, w.stored.Members) || !reflect.DeepEqual(again.Waves, w.stored.Waves) {
			w.broken("a state survives its store", "%v: %s", err, text)
		}
		w.stored = again
	}
	for _, a := range w.stored.Pending() {
		w.send(a)
	}
}

// facts are what the driver gets to know now: some of the reports that have arrived, in any order.
func (w *world) facts() rollout.Facts {
	f := rollout.Facts{Now: w.now.Add(w.offset), Freezes: w.freezes}
	for i := 0; i < len(w.reports); {
		if w.reports[i].at.After(w.now) || w.IntN(10) < 2 {
			i++
			continue
		}
		f.Reports = append(f.Reports, w.reports[i].r)
		last := len(w.reports) - 1
		w.reports[i] = w.reports[last]
		w.reports = w.reports[:last]
	}
	first := w.stored.Handled
	if first > 0 && w.IntN(8) == 0 {
		first-- // a request may come twice
	}
	for _, r := range w.requests[first:] {
		f.Requests = append(f.Requests, r.Request)
	}
	if w.stored.Phase == rollout.PhaseChecking || w.IntN(10) == 0 {
		f.Plans = map[string]rollout.Outcome{}
		for _, m := range w.members {
			if w.calm || w.IntN(4) > 0 {
				f.Plans[m.server] = m.outcome
			}
		}
	}
	if w.IntN(10) == 0 {
		f.Servers = map[string]map[string]string{}
		gone := w.IntN(4 * len(w.members))
		for i, m := range w.members {
			if w.calm || i != gone {
				f.Servers[m.server] = m.labels
			}
		}
	}
	return f
}

// lawRepeatable: the same facts again change nothing.
func (w *world) lawRepeatable(next rollout.State, f rollout.Facts) {
	again, actions := rollout.Next(w.set, next, f)
	if len(actions) > 0 || !reflect.DeepEqual(again, next) {
		w.broken("the same facts again give no second action", "%v\n%+v\n%+v", actions, next, again)
	}
}

// asked reports whether a person has asked, since a moment, for what matches.
func (w *world) asked(matches func(ask) bool) bool { return slices.ContainsFunc(w.requests, matches) }
