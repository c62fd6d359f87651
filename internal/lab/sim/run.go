package sim

import (
	"fmt"
	"strings"
)

// Run runs one seed and returns what it went through, and the law that it broke, if any.
func Run(seed uint64, o Options, d Defect) (passed Passed, broken *Violation) {
	var w *world
	defer func() {
		r := recover()
		if w != nil {
			passed = w.passed
			passed.Steps, passed.Groups = w.steps, len(w.groups)
		}
		if r == nil {
			return
		}
		v, is := r.(*Violation)
		if !is {
			panic(r)
		}
		v.Seed, v.Options = seed, o
		if w != nil {
			v.Step, v.Trace = w.steps, w.trace()
		}
		broken = v
	}()
	w = newWorld(seed, o, d)
	w.run()
	return passed, nil
}

// Add sums up.
func (p *Passed) Add(other Passed) {
	p.Steps += other.Steps
	p.Groups += other.Groups
	p.Crashes += other.Crashes
	p.Resumes += other.Resumes
	p.Attempts += other.Attempts
	p.Drains += other.Drains
	p.Chunks += other.Chunks
	p.Batches += other.Batches
	p.Dropped += other.Dropped
	p.Repeated += other.Repeated
	p.Widened += other.Widened
}

// Report is what a human needs: the law, how to run it again, and how it came to it.
func (v *Violation) Report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n\nrun it again:\n  %s\n\noptions: %+v\n\nthe last steps:\n%s", v, v.Rerun(), v.Options, v.Trace)
	return b.String()
}

// Rerun is the command that repeats the run.
func (v *Violation) Rerun() string {
	command := fmt.Sprintf("go test ./internal/lab/sim -run TestSimulation -sim.seed=%d -sim.steps=%d", v.Seed, v.Options.Steps)
	if diff := v.Options.Diff(v.Seed); diff != "" {
		command += " -sim.set=" + diff
	}
	return command
}
