package fleetsim

import (
	"flag"
	"testing"
)

var (
	seedFlag  = flag.Uint64("fleetsim.seed", 0, "run this seed only")
	stepsFlag = flag.Int("fleetsim.steps", 1500, "steps of a seed with faults")
	setFlag   = flag.String("fleetsim.set", "", "override options of the seed: name=value,...")
	totalFlag = flag.Int("fleetsim.total", 0, "steps to run in all; 0: 300,000, half of it with -short")
	firstFlag = flag.Uint64("fleetsim.first", 1, "the first seed")
)

// The laws hold in every run. A run that breaks one is printed with the command that repeats it, and so is a
// simpler one.
func TestRollout(t *testing.T) {
	first, total := *firstFlag, *totalFlag
	switch {
	case *seedFlag != 0:
		first, total = *seedFlag, 1
	case total == 0 && testing.Short():
		total = 150_000
	case total == 0:
		total = 300_000
	}
	var sum Passed
	runs := 0
	for seed := first; sum.Steps < total; seed++ {
		o := RandomOptions(seed, *stepsFlag)
		if err := o.Set(*setFlag); err != nil {
			t.Fatal(err)
		}
		passed, broken := Run(seed, o)
		if broken != nil {
			t.Errorf("%s", broken.Report())
			if *seedFlag == 0 && !*mutantFlag {
				t.Errorf("simpler: %s", Shrink(broken, 100).Report())
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

// rare fails if something that the laws are about hardly ever happens.
func rare(t *testing.T, sum Passed) {
	t.Helper()
	for what, n := range map[string]int{
		"starts": sum.Starts, "swaps": sum.Swaps, "undos": sum.Undos, "crashes": sum.Crashes, "stops": sum.Stops, "ends": sum.Ended,
		"decisions of a barrier": sum.Barriers, "open gates": sum.Gates, "withdrawn starts": sum.Recalls, "holds": sum.Holds,
	} {
		if n < sum.Steps/30_000 {
			t.Errorf("only %d %s in %d steps", n, what, sum.Steps)
		}
	}
}

// The same seed gives the same run: what is printed for a failure repeats it.
func TestRunsAreRepeatable(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		o := RandomOptions(seed, 400)
		first, _ := Run(seed, o)
		second, _ := Run(seed, o)
		if first != second {
			t.Errorf("seed %d: %+v, then %+v", seed, first, second)
		}
	}
}
