package main

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestP99OfEachSecond(t *testing.T) {
	const second, ms = 1_000_000, 1_000
	var trace []transaction
	for i := range int64(200) { // 100 transactions of 1 to 100 ms in each of two seconds
		trace = append(trace, transaction{at: 10*second + i/100*second + i%100, took: (1 + i%100) * ms})
	}
	trace = append(trace,
		transaction{at: 11*second + second/10, took: 5 * second}, // these end after the window
		transaction{at: 11*second + second/10, took: 5 * second},
		transaction{at: 9 * second, took: second},           // ended before the window
		transaction{at: 12*second + second/2, took: 3 * ms}, // in the rest of a second
	)
	if got, want := secondsP99(trace, 10*second, 12*second+second*6/10), []float64{99, 5000}; !slices.Equal(got, want) {
		t.Errorf("secondsP99 = %v, want %v", got, want)
	}
	if got := secondsP99(trace, 30*second, 33*second); len(got) != 0 {
		t.Errorf("secondsP99 of an empty window = %v", got)
	}
}

// rivalsBench has the flags' defaults.
func rivalsBench() *bench {
	return &bench{options: options{
		rows: 1_000_000, rounds: 3, what: []string{measureRivals}, limit: 65 * time.Second, lead: 3 * time.Second, after: time.Second,
		rivalsBefore: 7 * time.Second, peakWindow: 20 * time.Second, midstream: "midstream",
	}, programs: programs{ptOSC: &program{}, built: map[string]*program{toolGhost: {}, toolSpirit: {}}}}
}

func TestThreeRoundsOfRivalsFitInAnHour(t *testing.T) {
	b := rivalsBench()
	plan := b.rivalPlan()
	if len(plan) != 5 || len(plan[0].tools) != len(rivalNames()) {
		t.Fatalf("the plan lacks loads or tools: %v", plan)
	}
	got := plan.estimate(b)
	t.Log(got)
	if got > 60*time.Minute {
		t.Errorf("three rounds take %s", got)
	}
}

func TestRivalsMeasuresWhatWasAsked(t *testing.T) {
	b := rivalsBench()
	b.programs.built = map[string]*program{}
	b.asked = []string{"tools", "loads"}
	b.loads, b.toolNames = []string{loadThirtyFour}, []string{toolMidstream, toolMidstream + "@/old/midstream", toolGhost}
	plan := b.rivalPlan()
	if len(plan) != 1 || plan[0].load.threads != 16 || !slices.Equal(plan[0].tools, b.toolNames[:2]) {
		t.Errorf("plan = %v", plan)
	}
	if _, err := b.rivalTool(toolPT + "@/old/pt"); err == nil || !strings.Contains(err.Error(), "only midstream") {
		t.Errorf("a path for another tool: %v", err)
	}
}

func TestRunThatDidNotFinishMissesItsDemand(t *testing.T) {
	run := func(tool, load string, round int, s float64, finished bool) Run {
		return Run{Tool: tool, Load: load, Round: round, ElapsedS: s, Finished: finished}
	}
	f := &File{Runs: []Run{
		run(toolMidstream, loadIdle, 0, 4, true), run(toolMidstream, loadIdle, 1, 4, true),
		run(toolMidstream, loadTwenty, 0, 75, false), run(toolMidstream, loadTwenty, 1, 75, false),
		run(toolMidstream, loadFullEight, 0, 50, true), run(toolMidstream, loadFullEight, 1, 75, false),
	}}
	found := 0
	for _, v := range reachVerdicts(map[string]*File{measureRivals: f}) {
		if strings.Contains(v.what, "elapsed") && !math.IsNaN(v.value) {
			found++
			if v.word() != "**missed**" || v.shown != "not finished" {
				t.Errorf("%s: %s, %s (%s)", v.what, v.shown, v.word(), v.note)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d verdicts on the time, want 2", found)
	}
	if !gaveUp(&File{Runs: []Run{run(toolGhost, loadFullEight, 0, 75, false)}}, toolGhost, loadFullEight) {
		t.Error("gh-ost runs again under a load that it could not finish")
	}
	if gaveUp(f, toolMidstream, loadTwenty) {
		t.Error("midstream is left out")
	}
}
