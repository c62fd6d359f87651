package deadline

import (
	"context"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/forecast"
)

// Looks and reports.
const (
	mostBetween, leastBetween = time.Minute, time.Second // looks
	looks                     = 240                      // before the deadline
	reportEvery               = time.Minute
	// The swap takes about as long as the run took to begin: both rename or create tables, and write to
	// the state table. These are the least and the most of it.
	leastSwap, mostSwap = 500 * time.Millisecond, 2 * time.Second
)

// Rule is what the settings of now ask for.
type Rule struct {
	Aim // its By is zero if there is no deadline
	// Limit writes the limit of a factor.
	Limit func(factor float64) string
}

// Deps are what a Keeper works with.
type Deps struct {
	Rule func(began time.Time) Rule
	// Changing is closed when the rule may be another one.
	Changing func() <-chan struct{}
	Standing func() forecast.Standing
	// Apply makes the limit of Factor hold.
	Apply func()
	Emit  event.Listener
}

// Keeper keeps a run to its deadline. It is safe for concurrent use.
type Keeper struct {
	deps Deps

	mu     sync.Mutex
	factor float64
	report event.Deadline
}

// NewKeeper returns a Keeper whose factor is 1 until Run has looked.
func NewKeeper(deps Deps) *Keeper { return &Keeper{deps: deps, factor: 1} }

// Factor is the present limit as a multiple of --max-slowdown; 1 without a deadline.
func (k *Keeper) Factor() float64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.factor
}

// Report is the newest report; its By is zero without a deadline.
func (k *Keeper) Report() event.Deadline {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.report
}

// Run keeps a change that began at a time to its deadline, until the context ends. Then it returns nil.
func (k *Keeper) Run(ctx context.Context, began time.Time) error {
	course, swap := NewCourse(1), min(mostSwap, max(leastSwap, time.Since(began)))
	var before event.Phase
	for ctx.Err() == nil {
		changed, rule := k.deps.Changing(), k.deps.Rule(began)
		now, wait := time.Now(), time.Duration(-1)
		factor, report := 1.0, event.Deadline{}
		if rule.By.IsZero() {
			course = NewCourse(1)
		} else {
			standing := k.deps.Standing()
			look := standing.Look(before, now)
			look.Fixed += swap
			v := course.Next(look, rule.Aim)
			if standing.Phase == event.PhaseHold { // an operator or a window decides when the run ends
				v.State, v.Expected = Unknown, time.Time{}
				if now.After(rule.By) {
					v.State = Impossible
				}
			}
			before, factor = standing.Phase, v.Factor
			report = event.Deadline{By: rule.By, State: v.State, Expected: v.Expected, Limit: rule.Limit(factor), Factor: factor,
				Highest: factor >= rule.Most, At: now}
			wait = min(mostBetween, max(leastBetween, rule.By.Sub(began)/looks))
		}
		due := k.take(factor, report)
		k.deps.Apply() // always: the settings may have changed since the last look
		if due {
			k.deps.Emit(report)
		}
		k.sleep(ctx, wait, changed)
	}
	return nil
}

// sleep waits for a time, or until the rule may be another one; forever if the time is negative.
func (k *Keeper) sleep(ctx context.Context, wait time.Duration, changed <-chan struct{}) {
	var over <-chan time.Time
	if wait >= 0 {
		over = time.After(wait)
	}
	select {
	case <-ctx.Done():
	case <-over:
	case <-changed:
	}
}

// take sets the factor and the report, and returns whether it is time to emit the report.
func (k *Keeper) take(factor float64, report event.Deadline) (due bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	last := k.report
	due = report.At.Sub(last.At) >= reportEvery || report.State != last.State || !report.By.Equal(last.By)
	k.factor = factor
	k.report = report
	if !due { // the time of the last event stays
		k.report.At = last.At
	}
	return due && !report.By.IsZero()
}
