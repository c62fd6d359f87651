package forecast

import (
	"iter"
	"math"
	"slices"
	"time"

	"midstream/internal/engine/event"
)

// The samples of a Forecaster.
const (
	shortest  = 500 * time.Millisecond // a sample, at first
	longest   = time.Minute
	mostKept  = 120 // samples; then two become one, up to the longest
	memory    = time.Hour
	enough    = 3
	leastRate = 0.0499 // below it, displays show 0.0/s, and the end is not known
)

// farthest is the longest forecast.
const farthest = 365 * 24 * time.Hour

// Estimate is the time until the end, between Least and Most in about 85 of 100 cases. It is
// negative if it is not known.
type Estimate struct{ Left, Least, Most time.Duration }

// Unknown is the estimate of what is not known.
func Unknown() Estimate { return Estimate{-1, -1, -1} }

// kept is what was done in some time in which the work was not held.
type kept struct {
	over float64 // seconds
	done float64
	load float64 // mean
}

// Forecaster estimates when a run ends. It is not safe for concurrent use.
type Forecaster struct {
	last    Look
	phase   event.Phase
	kept    []kept        // all but the last are as long as width
	width   time.Duration // of a sample
	learner learner
}

// NewForecaster returns a Forecaster that has seen nothing.
func NewForecaster() *Forecaster { return &Forecaster{width: shortest} }

// Next takes the standing of a run into account, and returns when the run ends. The sensitivity of the
// calendar is a guess: it holds until the run has shown how much the load slows it.
func (f *Forecaster) Next(s Standing, c Calendar) Estimate {
	if s.Phase == event.PhaseVerify && f.phase != event.PhaseVerify {
		f.forget()
	}
	l := s.Look(f.phase, s.At)
	f.phase = s.Phase
	f.Observe(l, c)
	switch s.Phase {
	case event.PhaseCopy, event.PhaseIndex, event.PhaseCatchUp, event.PhaseVerify:
		if s.Paused {
			return Unknown()
		}
		return f.Estimate(l, c).expecting(s.Deadline.Expected.Sub(s.At))
	case event.PhaseHold, event.PhaseCutover, event.PhaseLock:
		if s.Backlog > 0 && s.ApplyRate < leastRate {
			return Unknown()
		}
		return Estimate{l.Fixed, l.Fixed, l.Fixed}
	}
	return Unknown()
}

// expecting returns an estimate of the time that a deadline makes the run take, if there is one:
// its pace will change so that the run takes this time.
func (e Estimate) expecting(left time.Duration) Estimate {
	if left <= 0 || e.Left <= 0 {
		return e
	}
	factor := float64(left) / float64(e.Left)
	return Estimate{left, scaled(e.Least, factor), scaled(e.Most, factor)}
}

// forget keeps only a little of what was seen, because another kind of work begins.
func (f *Forecaster) forget() {
	all := f.sum()
	if all.over == 0 {
		return
	}
	const little = 0.03
	part := little / enough * min(1, mostForgotten.Seconds()/all.over)
	all.over, all.done = part*all.over, part*all.done
	f.kept, f.width = slices.Repeat([]kept{all}, enough), max(shortest, seconds(all.over))
}

const mostForgotten = 10 * time.Minute

// sum is all that is kept, as one sample.
func (f *Forecaster) sum() (all kept) {
	for _, k := range f.kept {
		all = all.with(k)
	}
	return all
}

// with returns two samples as one.
func (k kept) with(o kept) kept {
	over := k.over + o.over
	if over == 0 {
		return k
	}
	return kept{over: over, done: k.done + o.done, load: (k.load*k.over + o.load*o.over) / over}
}

// Observe learns from the work since the last look.
func (f *Forecaster) Observe(l Look, c Calendar) {
	before := f.last
	if l.At.Sub(before.At) < shortest/5 && !l.Held {
		return // until there is more to see
	}
	f.last = l
	if before.At.IsZero() || l.Held {
		return
	}
	over := c.Hours.Within(before.At, l.At).Seconds()
	if over <= 0 {
		return
	}
	k := kept{over: over, done: max(0, l.Done-before.Done), load: c.Loads.Load(l.At)}
	f.learner.observe(k)
	if last := len(f.kept) - 1; last >= 0 && f.kept[last].over < f.width.Seconds() {
		f.kept[last] = f.kept[last].with(k)
	} else {
		f.kept = append(f.kept, k)
	}
	switch {
	case len(f.kept) <= mostKept:
	case f.width < longest:
		f.double()
	default:
		f.kept = f.kept[1:]
	}
	for f.sum().over > memory.Seconds()+f.width.Seconds() && len(f.kept) > 1 {
		f.kept = f.kept[1:]
	}
}

// double makes samples twice as long.
func (f *Forecaster) double() {
	var pairs []kept
	for i := 0; i < len(f.kept); i += 2 {
		k := f.kept[i]
		if i+1 < len(f.kept) {
			k = k.with(f.kept[i+1])
		}
		pairs = append(pairs, k)
	}
	f.kept, f.width = pairs, 2*f.width
}

// Sensitivity is how much the load slows the work, as far as the run has shown it.
func (f *Forecaster) Sensitivity(c Calendar) float64 {
	f.learner.guess = c.Sensitivity
	return f.learner.fit()
}

// Estimate returns when the work of a look ends.
func (f *Forecaster) Estimate(l Look, c Calendar) Estimate {
	c.Sensitivity = f.Sensitivity(c)
	if l.Left <= 0 {
		return Estimate{l.Fixed, scaled(l.Fixed, math.Exp(-reach*unsureFixed)), scaled(l.Fixed, math.Exp(reach*unsureFixed))}
	}
	rate, known := Mean(f.samples(c), memory)
	if known < enough || rate < leastRate {
		return Unknown()
	}
	if near, _ := Mean(f.samples(c), seconds(l.Left/rate*c.slowness(l.At))); near >= leastRate {
		rate = near
	}
	sd := math.Hypot(f.spread(c, l.Left/rate), min(1, l.Unsure/l.Left))
	end := func(deviation float64) time.Duration {
		work := seconds(l.Left / rate * math.Exp(deviation*sd))
		return min(farthest, c.End(l.At, work).Sub(l.At)+scaled(l.Fixed, math.Exp(deviation*unsureFixed)))
	}
	return Estimate{Left: end(0), Least: end(-reach), Most: end(reach)}
}

// seconds is a time, at most the farthest.
func seconds(s float64) time.Duration {
	return time.Duration(min(s, farthest.Seconds()) * float64(time.Second))
}

func scaled(d time.Duration, factor float64) time.Duration { return time.Duration(float64(d) * factor) }

// samples yields the rates that an idle server would have had, the newest first.
func (f *Forecaster) samples(c Calendar) iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		for i := len(f.kept) - 1; i >= 0; i-- {
			if k := f.kept[i]; !yield(Sample{Over: seconds(k.over), Rate: k.rate(c), Weight: 1}) {
				return
			}
		}
	}
}

// rate is what an idle server would have had.
func (k kept) rate(c Calendar) float64 {
	if k.over == 0 {
		return 0
	}
	return k.done / k.over * (1 + c.Sensitivity*k.load)
}

// How the range comes about.
const (
	// reach is the range in standard errors.
	reach = 0.9
	// unsureFixed is the standard error of the logarithm of Look.Fixed.
	unsureFixed = 0.35
	// assumed is that of a rate before its changes are seen, and assumedWeight the number of changes
	// that this counts as.
	assumed, assumedWeight = 0.06, 3
	// drift is the part of the changes seen that each doubling beyond the time seen adds.
	drift = 0.35
)

// spread is the standard error of the logarithm of a rate that is expected for some seconds. It is how
// much the mean rates of two times as long, one after the other, have differed. If too little was
// seen for that, the largest difference of shorter times counts, and more the longer it has to hold.
func (f *Forecaster) spread(c Calendar, over float64) float64 {
	var rates []float64
	var all, seen float64
	for s := range f.samples(c) {
		rates = append(rates, s.Rate)
		all += s.Rate
		seen += s.Over.Seconds()
	}
	if len(rates) > enough {
		rates = rates[:len(rates)-1] // the first may be of a slow start
	}
	least := 0.05 * all / float64(max(1, len(rates)))
	var found, largest float64
	for length := 1; length*2 <= len(rates); length *= 2 {
		squares, pairs := differences(rates, length, least)
		v := (squares + assumedWeight*assumed*assumed) / (float64(pairs) + assumedWeight)
		found, largest = v, max(largest, v)
		if float64(length)*f.width.Seconds() >= over {
			return math.Sqrt(found)
		}
	}
	if largest == 0 {
		largest = assumed * assumed
	}
	doublings := math.Log2(1 + over/max(1, seen))
	return math.Sqrt(max(found, largest/4)) * (1 + drift*doublings)
}

// differences returns the sum of squared changes of the logarithm between neighbours of so many
// rates each, and their number.
func differences(rates []float64, length int, least float64) (squares float64, pairs int) {
	var means []float64
	for ; len(rates) >= length; rates = rates[length:] {
		var sum float64
		for _, r := range rates[:length] {
			sum += r
		}
		means = append(means, math.Log(max(least, sum/float64(length))))
	}
	for i := 1; i < len(means); i++ {
		d := means[i] - means[i-1]
		squares += d * d
		pairs++
	}
	return squares, pairs
}
