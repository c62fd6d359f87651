package flow

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"midstream/internal/fleet/rollout"
)

// lostAfter is the time without a sign of life after which an activity counts as lost with its process.
const lostAfter = 20 * time.Second

// send sends the orders that are new, and those again that no report has confirmed for a while. An order that was
// replaced is not sent.
func (c *conductor) send(ctx workflow.Context, now time.Time, fresh []rollout.Action) {
	isFresh := make(map[string]bool, len(fresh))
	for _, a := range fresh {
		isFresh[a.Key()] = true
	}
	batches, news := map[*agents][]rollout.Action{}, map[*agents]bool{}
	for _, action := range c.State.Pending() {
		a := c.of[action.Server]
		if a == nil { // the end of the set, which has no server
			continue
		}
		if key := action.Key(); !a.sending[key] && (isFresh[key] || !now.Before(a.resend)) {
			batches[a] = append(batches[a], action)
			news[a] = news[a] || isFresh[key]
		}
	}
	for _, name := range c.names {
		a := c.agents[name]
		if len(batches[a]) == 0 {
			continue
		}
		if news[a] || a.pause == 0 {
			a.pause = c.tuning.Resend
		} else {
			a.pause = min(2*a.pause, 10*c.tuning.Resend)
		}
		a.resend = now.Add(a.pause)
		for batch := batches[a]; len(batch) > 0; batch = batch[min(len(batch), MostOrders):] {
			c.order(ctx, a, batch[:min(len(batch), MostOrders)])
		}
	}
}

// order sends one batch. It is tried once, and not late: if it gets lost, what is still to be done then is sent again.
func (c *conductor) order(ctx workflow.Context, a *agents, batch []rollout.Action) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: AgentQueue(a.name), ScheduleToStartTimeout: c.tuning.Resend, StartToCloseTimeout: 2 * time.Minute,
		HeartbeatTimeout: lostAfter,
		RetryPolicy:      &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	for _, action := range batch {
		a.sending[action.Key()] = true
	}
	c.inFlight++
	f := workflow.ExecuteActivity(ctx, OrderActivity, Order{c.in.Rules, batch})
	workflow.Go(ctx, func(ctx workflow.Context) {
		var out Ordered
		err := f.Get(ctx, &out)
		c.inFlight--
		for _, action := range batch {
			delete(a.sending, action.Key())
			delete(c.trouble, action.Server)
			if why := out.Errors[action.Key()]; why != "" {
				c.trouble[action.Server] = why
			}
		}
		a.away = err != nil
		c.reports = append(c.reports, out.Reports...)
		c.dirty = true
	})
}

// watches has agents report on their members, until the set has ended. What an agent knew then is forgotten: an undo waits for news.
func (c *conductor) watches(ctx workflow.Context, now time.Time) {
	known := map[*agents]map[string]uint64{}
	if !c.State.Phase.Ended() {
		for i := range c.State.Members {
			m := &c.State.Members[i]
			a := c.of[m.Server]
			if !c.worlds && m.Last.Order == 0 {
				continue
			}
			if known[a] == nil {
				known[a] = map[string]uint64{}
			}
			known[a][m.Server] = m.Version
		}
	}
	for _, name := range c.names {
		switch a := c.agents[name]; {
		case known[a] == nil && a.stop != nil:
			a.stop()
			a.stop = nil
			delete(c.Worlds, name)
		case known[a] != nil && a.stop == nil && !now.Before(a.watch):
			c.watch(ctx, a, known[a])
		}
	}
}

func (c *conductor) watch(ctx workflow.Context, a *agents, known map[string]uint64) {
	ctx, a.stop = workflow.WithCancel(ctx)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: AgentQueue(a.name), StartToCloseTimeout: 24 * time.Hour, HeartbeatTimeout: lostAfter,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 10 * time.Second},
	})
	f := workflow.ExecuteActivity(ctx, WatchActivity, Watch{c.in.Rules, a.name, known})
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = f.Get(ctx, nil) // its news are signals
		if ctx.Err() == nil {
			a.stop, a.watch = nil, workflow.Now(ctx).Add(c.tuning.Resend)
			c.dirty = true
		}
	})
}

// wait is the time until the core may decide something else though nothing arrives.
func (c *conductor) wait(now time.Time) time.Duration {
	next := now.Add(c.tuning.Longest)
	at := func(t time.Time) {
		if t.After(now) && t.Before(next) {
			next = t
		}
	}
	for i, w := range c.State.Waves {
		if w.Phase == rollout.WaveSoaking {
			at(now.Add(c.set.Waves[i].Soak - w.Soaked))
		}
		switch {
		case w.Preparing:
			at(w.RoundAt.Add(c.set.Swap.Hold - c.set.Swap.Margin))
		case c.set.Swap.When == rollout.WhenBarrier && w.Round > 0 && !w.Open:
			at(w.RoundAt.Add(c.set.Swap.Hold << min(w.Round, 6)))
		}
	}
	pending := map[*agents]bool{}
	for i := range c.State.Members {
		m := &c.State.Members[i]
		at(c.undoUntil(*m))
		if m.Step == rollout.StepRetrying {
			at(m.NotBefore)
		}
		if a := c.of[m.Server]; m.Last.Order > m.Obeyed {
			pending[a] = true
		}
		if a := c.of[m.Server]; c.lacks(m) {
			at(a.replan)
		}
	}
	for _, name := range c.names {
		a := c.agents[name]
		if pending[a] {
			at(a.resend)
		}
		at(a.watch)
	}
	for _, f := range c.freezes() {
		at(f.Until)
	}
	at(c.set.Start.Next(now))
	at(c.set.Swap.Window.Next(now))
	return next.Sub(now)
}
