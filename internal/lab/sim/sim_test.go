package sim

import (
	"flag"
	"testing"
)

var (
	seedFlag  = flag.Uint64("sim.seed", 0, "run this seed only")
	stepsFlag = flag.Int("sim.steps", 600, "steps of a seed until the application falls silent")
	setFlag   = flag.String("sim.set", "", "override options of the seed: name=value,...")
	totalFlag = flag.Int("sim.total", 0, "steps to run in all; 0: three million, a tenth of it with -short")
	firstFlag = flag.Uint64("sim.first", 1, "the first seed")
)

// Laws L1 to L6 hold in every run. A run that breaks one is printed with the command
// that repeats it, and so is a simpler one.
func TestSimulation(t *testing.T) {
	first, total := *firstFlag, *totalFlag
	switch {
	case *seedFlag != 0:
		first, total = *seedFlag, 1
	case total == 0 && testing.Short():
		total = 300_000
	case total == 0:
		total = 3_000_000
	}
	var sum Passed
	runs := 0
	for seed := first; sum.Steps < total; seed++ {
		o := options(t, seed, *stepsFlag, *setFlag)
		passed, broken := Run(seed, o, NoDefect)
		if broken != nil {
			t.Errorf("%s", broken.Report())
			if *seedFlag == 0 {
				t.Errorf("simpler: %s", Shrink(broken, NoDefect, 300).Report())
			}
			return
		}
		sum.Add(passed)
		runs++
	}
	t.Logf("%d steps in %d runs: %+v", sum.Steps, runs, sum)
	if *totalFlag == 0 && *seedFlag == 0 && *setFlag == "" {
		rare(t, sum)
	}
}

func options(t *testing.T, seed uint64, steps int, set string) Options {
	t.Helper()
	o := RandomOptions(seed, steps)
	if err := o.Set(set); err != nil {
		t.Fatal(err)
	}
	return o
}

// rare fails if something that the laws are about hardly ever happens.
func rare(t *testing.T, sum Passed) {
	t.Helper()
	for what, n := range map[string]int{
		"resumes": sum.Resumes, "drains": sum.Drains, "chunks": sum.Chunks, "keys dropped ahead": sum.Dropped,
		"repeated syncs": sum.Repeated, "widened syncs": sum.Widened,
	} {
		if n < sum.Steps/5000 {
			t.Errorf("only %d %s in %d steps", n, what, sum.Steps)
		}
	}
}

// The same seed gives the same run: what is printed for a failure repeats it.
func TestRunsAreRepeatable(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		o := RandomOptions(seed, 400)
		first, _ := Run(seed, o, NoDefect)
		second, _ := Run(seed, o, NoDefect)
		if first != second {
			t.Errorf("seed %d: %+v, then %+v", seed, first, second)
		}
		_, broken := Run(seed, o, EndEarly)
		_, again := Run(seed, o, EndEarly)
		if (broken == nil) != (again == nil) || broken != nil && broken.Report() != again.Report() {
			t.Errorf("seed %d fails in two ways:\n%v\n%v", seed, broken, again)
		}
	}
}
