package deadline

import (
	"context"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
)

// Looks and reports.
const (
	mostBetween, leastBetween = time.Minute, 2 * time.Second // looks
	looks                     = 240                          // before the deadline
	reportEvery               = time.Minute
	// swapTakes is about the time of what comes after the last paced work.
	swapTakes = 2 * time.Second
)

// Rule is what the settings of now ask for.
type Rule struct {
	Aim // its By is zero if there is no deadline
	// Limit writes the limit of a factor.
	Limit func(factor float64) string
}

// Standing is the state of a run.
type Standing struct {
	event.Progress
	// Idle means that the copy is paused, or waits for its window.
	Idle bool
	// Verify is the time that the comparison of a row takes, as a multiple of copying it; 0 if the
	// rows are not compared.
	Verify float64
	// Index is the time of the build of deferred indexes.
	Index time.Duration
}

// Of returns the standing of a run whose table was measured to have a pace. deferred means that
// indexes are built after the row copy.
func Of(p event.Progress, pace plan.Pace, verifies, deferred, idle bool) Standing {
	s := Standing{Progress: p, Idle: idle}
	if verifies && pace.Verify > 0 {
		s.Verify = pace.Shadow.Rows / pace.Verify
	}
	if deferred && pace.Indexes > 0 {
		s.Index = time.Duration(float64(p.RowsTotal) / pace.Indexes * float64(time.Second))
	}
	return s
}

// Deps are what a Keeper works with.
type Deps struct {
	Rule func(began time.Time) Rule
	// Changing is closed when the rule may be another one.
	Changing func() <-chan struct{}
	Standing func() Standing
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
	course := NewCourse(1)
	var before Standing
	for ctx.Err() == nil {
		changed, rule := k.deps.Changing(), k.deps.Rule(began)
		now, wait := time.Now(), time.Duration(-1)
		factor, report := 1.0, event.Deadline{}
		if rule.By.IsZero() {
			course = NewCourse(1)
		} else {
			standing := k.deps.Standing()
			v := course.Next(lookAt(standing, before, now), rule.Aim)
			if standing.Phase == event.PhaseHold { // an operator or a window decides when the run ends
				v.State, v.Expected = Unknown, time.Time{}
			}
			before, factor = standing, v.Factor
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

// lookAt is what a run's standing is for a Course. It counts in rows that are copied.
func lookAt(s, before Standing, now time.Time) Look {
	total := float64(max(s.RowsTotal, s.RowsCopied))
	l := Look{At: now, Held: s.Idle || s.Phase != before.Phase, Fixed: swapTakes}
	if s.Backlog > 0 && s.ApplyRate > 0 {
		l.Fixed += min(time.Hour, time.Duration(float64(s.Backlog)/s.ApplyRate*float64(time.Second)))
	}
	switch s.Phase {
	case event.PhaseCopy:
		l.Done = float64(s.RowsCopied)
		l.Left = total - l.Done + s.Verify*total
		l.Fixed += s.Index
	case event.PhaseIndex, event.PhaseCatchUp, event.PhaseVerify:
		verified := min(total, float64(s.Verified))
		l.Done, l.Left = total+s.Verify*verified, s.Verify*(total-verified)
		if s.Phase == event.PhaseIndex {
			l.Fixed += time.Duration(float64(s.Index) * (1 - s.IndexFraction))
		}
		l.Held = l.Held || s.Phase != event.PhaseVerify
	}
	return l
}
