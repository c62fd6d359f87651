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

// TestRolloutOfTwoSets: two gated sets on the same table that wait for each other name each other.
// The cancel of one lets the other end.
func TestRolloutOfTwoSets(t *testing.T) {
	first, runs := *firstFlag, 100
	if *seedFlag != 0 {
		first, runs = *seedFlag, 1
	} else if *totalFlag > 0 {
		runs = *totalFlag / 5000
	}
	waited := 0
	for seed := first; seed < first+uint64(runs); seed++ { //nolint:gosec // it is not negative
		stuck, broken := Pair(seed)
		if broken != nil {
			t.Errorf("%s\n  %s\n  again: go test ./internal/lab/fleetsim -run TestRolloutOfTwoSets -fleetsim.seed=%d", broken.Law, broken.What, seed)
			return
		}
		if stuck {
			waited++
		}
	}
	t.Logf("in %d of %d runs the sets waited for each other", waited, runs)
	if *seedFlag == 0 && waited < runs/20 {
		t.Error("that is too rare")
	}
}

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
