package deadline_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"midstream/internal/engine/deadline"
	"midstream/internal/engine/event"
	"midstream/internal/engine/forecast"
)

// copying is a run whose rate is proportional to its limit.
type copying struct {
	mu      sync.Mutex
	at      time.Time
	p       event.Progress
	rate    float64
	keeper  *deadline.Keeper
	by      time.Time
	most    float64
	changed chan struct{}
	told    []event.Deadline
	applied int
}

func newCopying(rows int64, within time.Duration) *copying {
	c := &copying{at: time.Now(), rate: 100, by: time.Now().Add(within), most: 10, changed: make(chan struct{})}
	c.p = event.Progress{Phase: event.PhaseCopy, RowsTotal: rows}
	c.keeper = deadline.NewKeeper(deadline.Deps{
		Rule: func(time.Time) deadline.Rule {
			c.mu.Lock()
			defer c.mu.Unlock()
			return deadline.Rule{
				Aim:   deadline.Aim{By: c.by, Least: deadline.Gentlest, Most: c.most},
				Limit: func(factor float64) string { return fmt.Sprintf("%.0f%%", 5*factor) },
			}
		},
		Changing: func() <-chan struct{} {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.changed
		},
		Standing: func() forecast.Standing { return forecast.Standing{Progress: c.progress(), Verify: 0.25} },
		Apply:    func() { c.applied++ },
		Emit:     func(e event.Event) { c.told = append(c.told, e.(event.Deadline)) },
	})
	return c
}

// progress lets the work be done that the time since the last call allows.
func (c *copying) progress() event.Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	did := int64(time.Since(c.at).Seconds() * c.rate * c.keeper.Factor())
	c.at = time.Now()
	switch c.p.Phase {
	case event.PhaseCopy:
		if c.p.RowsCopied += did; c.p.RowsCopied >= c.p.RowsTotal {
			c.p.RowsCopied, c.p.Phase = c.p.RowsTotal, event.PhaseVerify
		}
	case event.PhaseVerify:
		if c.p.Verified += 4 * did; c.p.Verified >= c.p.RowsTotal {
			c.p.Phase = event.PhaseDone
		}
	}
	return c.p
}

// set changes what the operator asks for.
func (c *copying) set(change func()) {
	c.mu.Lock()
	change()
	changed := c.changed
	c.changed = make(chan struct{})
	c.mu.Unlock()
	close(changed)
	synctest.Wait()
}

// TestKeeperReportsEachMinute: a run that is behind raises its limit, reports each minute and when
// the state changes, and ends in time.
func TestKeeperReportsEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCopying(2*100*3600, time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		go c.keeper.Run(ctx, time.Now())
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if n := len(c.told); n < 30 || n > 40 {
			t.Errorf("%d reports in 30 minutes", n)
		}
		if c.told[0].State != event.DeadlineUnknown || c.told[1].State != event.DeadlineBehind || c.applied < 2 {
			t.Errorf("the limit was changed %d times; the reports are %+v", c.applied, c.told[:2])
		}
		if r := c.keeper.Report(); r.State != event.DeadlineMet || r.Factor < 2 || r.Factor > 3.5 || r.Highest {
			t.Errorf("after half an hour it reports %+v", r)
		}
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if p := c.progress(); p.Phase != event.PhaseDone {
			t.Errorf("at the deadline the run is at %+v", p)
		}
		stop()
		synctest.Wait()
	})
}

// TestKeeperFollowsSet: the deadline may come, change and go while a run is at work.
func TestKeeperFollowsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCopying(2*100*3600, time.Hour)
		by := c.by
		c.by = time.Time{}
		ctx, stop := context.WithCancel(t.Context())
		go c.keeper.Run(ctx, time.Now())
		time.Sleep(10 * time.Minute)
		if len(c.told) > 0 || c.keeper.Factor() != 1 {
			t.Errorf("without a deadline it reports %v", c.told)
		}
		c.set(func() { c.by, c.most = by, 1.2 })
		time.Sleep(5 * time.Minute)
		if r := c.keeper.Report(); r.State != event.DeadlineImpossible || !r.Highest || !r.Expected.After(by) || r.Limit != "6%" {
			t.Errorf("with a low highest limit it reports %+v", r)
		}
		c.set(func() { c.most = 10 })
		time.Sleep(10 * time.Minute)
		if r := c.keeper.Report(); r.State == event.DeadlineImpossible || r.Factor < 2 {
			t.Errorf("with a higher one it reports %+v", r)
		}
		c.set(func() { c.by = time.Time{} })
		if c.keeper.Factor() != 1 || !c.keeper.Report().By.IsZero() {
			t.Errorf("after the deadline was taken away the factor is %g", c.keeper.Factor())
		}
		stop()
		synctest.Wait()
	})
}
