package fleetsim

import (
	"math/rand/v2"

	"midstream/internal/lab/knobs"
)

// Options are what a seed decides before the first step. Percentages are chances.
type Options struct {
	Members int
	Waves   int
	Hosts   int
	Cells   int
	All     int // limits; 0 for none
	PerHost int
	PerCell int
	Stop    int // failed members that stop the set
	Swap    int // 0 ready, 1 wave_ready, 2 released, 3 barrier
	Soak    int // longest soak, in minutes
	Approve int // percentage of waves
	Window  int // 0 none, 1 of swaps, 2 of starts, 3 of both
	Undo    bool
	Applied bool // members that have the change are skipped

	Misfit  int // percentage of members that the plan does not find fit
	Fail    int // percentage of runs that fail for good
	Pass    int // percentage of runs that fail for a reason that passes
	Unclear int // percentage of runs whose result is not known
	Crash   int // percentage of the driver's turns, at each of their stages
	Lose    int // percentage of messages
	Double  int // percentage of messages
	Delay   int // longest way of a message, in seconds
	Freeze  int // in a thousand steps
	Person  int // in a thousand steps: requests of persons, sensible or not
	Jump    int // in a thousand steps: the driver's clock jumps
	End     int // in ten thousand steps: cancel, or undo
	Steps   int // with faults
}

// RandomOptions draws the options of a seed.
func RandomOptions(seed uint64, steps int) Options {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(values ...int) int { return values[r.IntN(len(values))] }
	o := Options{
		Members: 1 + pick(r.IntN(4), r.IntN(12), r.IntN(60)), Waves: 1 + r.IntN(4), Hosts: 1 + r.IntN(12), Cells: 1 + r.IntN(5),
		All: pick(0, 1, 2, 5, 20), PerHost: pick(0, 0, 1, 2), PerCell: pick(0, 0, 1, 3), Stop: pick(1, 1, 2, 4), Swap: r.IntN(4),
		Soak: pick(0, 5, 60), Approve: pick(0, 30, 100), Window: pick(0, 0, 0, 1, 2, 3), Undo: r.IntN(3) > 0, Applied: r.IntN(2) == 0,
		Misfit: pick(0, 0, 5, 20), Fail: pick(0, 3, 10), Pass: pick(0, 10, 30), Unclear: pick(0, 5, 20),
		Crash: pick(0, 2, 10, 30), Lose: pick(0, 5, 30), Double: pick(0, 10, 40), Delay: pick(0, 1, 30, 300),
		Freeze: pick(0, 2, 10), Person: pick(5, 20, 60), Jump: pick(0, 0, 5), End: pick(0, 5, 30, 100), Steps: steps,
	}
	if o.Swap == 3 {
		o.Members = min(o.Members, 16)
	}
	return o
}

// Set overrides options: name=value, separated by commas.
func (o *Options) Set(list string) error { return knobs.Set(o, list) }

// Diff lists the options that differ from those of the seed, in the form that Set takes.
func (o Options) Diff(seed uint64) string { return knobs.Diff(o, RandomOptions(seed, o.Steps)) }

// simpler are the options that are tried one after the other to get a run that is easier to follow.
var simpler = []string{
	"crash=0", "lose=0", "double=0", "delay=0", "jump=0", "freeze=0", "unclear=0", "pass=0", "fail=0", "misfit=0", "end=0", "window=0",
	"approve=0", "soak=0", "perhost=0", "percell=0", "applied=false", "waves=1", "waves=2", "members=1", "members=2", "members=3", "members=5",
	"hosts=1", "cells=1", "swap=0", "all=0", "all=1",
}

// Shrink looks for a run with simpler options, and as few steps as can be found, that breaks the same law.
func Shrink(v *Violation, seeds uint64) *Violation {
	for _, set := range append(simpler, "") {
		o := v.Options
		if err := o.Set(set); err != nil {
			panic(err)
		}
		if o == v.Options && set != "" {
			continue
		}
		var best *Violation
		for seed := uint64(1); seed <= seeds; seed++ {
			if _, found := Run(seed, o); found != nil && found.Law == v.Law && (best == nil || found.Step < best.Step) {
				best = found
			}
		}
		if best != nil && (set != "" || best.Step < v.Step) {
			v = best
		}
	}
	return v
}
