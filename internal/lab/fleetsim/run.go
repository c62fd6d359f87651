package fleetsim

import (
	"fmt"
	"strings"

	"midstream/internal/fleet/rollout"
)

// mostCalm is the number of steps in which a set ends once the faults have stopped, and for each member in addition.
const (
	mostCalm   = 8000
	calmMember = 800
)

// Run runs a seed. It returns the law that is broken, or nil.
func Run(seed uint64, o Options) (Passed, *Violation) { return run(seed, o, nil) }

func run(seed uint64, o Options, tracer func(string)) (passed Passed, broken *Violation) {
	w := newWorld(seed, o)
	w.tracer = tracer
	defer func() {
		w.passed.Steps = w.step
		passed = w.passed
		switch p := recover().(type) {
		case nil:
		case *Violation:
			broken = p
		default:
			if text := fmt.Sprint(p); strings.HasPrefix(text, "rollout: no move") {
				broken = &Violation{Law: "the core has a move for everything", What: text, Step: w.step, Options: o}
				break
			}
			panic(p)
		}
		if broken != nil {
			broken.Seed = seed
		}
	}()
	if tracer != nil {
		for _, m := range w.stored.Members {
			w.trace("%s: wave %d, %v, %s", m.Server, m.Wave, m.Labels, w.byName[m.Server].outcome)
		}
	}
	for w.step < o.Steps && (!w.stored.Phase.Ended() || o.End > 0 && o.Undo) {
		w.turn()
	}
	w.calm, w.offset = true, 0
	var freezes []rollout.Freeze
	for _, f := range w.freezes {
		if !f.Until.IsZero() {
			freezes = append(freezes, f) // it ends by itself
		}
	}
	w.freezes = freezes
	w.trace("the faults stop")
	for end := w.step + mostCalm + calmMember*o.Members; !w.stored.Phase.Ended(); {
		if w.turn(); w.step > end {
			w.broken(lawEnds, "the set is %s: %s; %s", w.stored.Phase, w.stored.Why, w.waiting())
		}
	}
	return
}

// waiting names the members that have not ended.
func (w *world) waiting() string {
	var b strings.Builder
	for _, m := range w.members {
		if s := w.stored.Members[m.i]; s.Step != rollout.StepDone {
			fmt.Fprintf(&b, "%s is %s, really %s; ", m.server, s.Step, m.status)
			if w.tracer != nil {
				fmt.Fprintf(&b, "%+v\n", s)
			}
		}
	}
	return b.String()
}

// mostTrace is the number of lines of a trace that are printed.
const mostTrace = 80

// Report is the violation with the command that repeats it, and its last steps.
func (v *Violation) Report() string {
	var lines []string
	run(v.Seed, v.Options, func(line string) { lines = append(lines, line) })
	if n := len(lines); n > mostTrace {
		lines = append([]string{fmt.Sprintf("(%d lines before)", n-mostTrace)}, lines[n-mostTrace:]...)
	}
	set := ""
	if diff := v.Options.Diff(v.Seed); diff != "" {
		set = " -fleetsim.set=" + diff
	}
	return fmt.Sprintf("%s\n  step %d: %s\n  again: go test ./internal/lab/fleetsim -run TestRollout -fleetsim.seed=%d -fleetsim.steps=%d%s\n%s",
		v.Law, v.Step, v.What, v.Seed, v.Options.Steps, set, strings.Join(lines, "\n"))
}
