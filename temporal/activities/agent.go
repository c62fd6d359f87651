// Package activities is what the workflows have done outside of them: by agents, next to the databases, and by the worker.
package activities

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"midstream/internal/fleet/rollout"
	"midstream/temporal/flow"
)

// Members are the servers that an agent serves. Its methods may be called at the same time.
type Members interface {
	// Plan plans the change of a set for servers. A server that was not reached has no outcome.
	Plan(ctx context.Context, set rollout.Set, servers []string) ([]flow.Planned, error)
	// Reports has the newest report of each member that has had an order of the set.
	Reports(ctx context.Context, set rollout.Set) ([]rollout.Report, error)
	// Do gives a member an order. An order that it has had, or a newer one, changes nothing.
	Do(ctx context.Context, set rollout.Set, action rollout.Action) error
	// World is what is known of all servers.
	World(ctx context.Context) (flow.World, error)
}

// signaler is the part of a client that sends signals.
type signaler interface {
	SignalWorkflow(ctx context.Context, workflow, run, signal string, arg any) error
}

// Agent runs the activities of a task queue of agents.
type Agent struct {
	Members Members
	Client  signaler
	// Every is the time between two looks at the members. Defaults to 1 s.
	Every time.Duration
	// Turns bounds the looks of a watch; 0: as long as the set is at work. For tests without time.
	Turns int
}

// Register registers the activities.
func (a *Agent) Register(w worker.Registry) {
	for name, f := range map[string]any{flow.PlanActivity: a.Plan, flow.OrderActivity: a.Order, flow.WatchActivity: a.Watch} {
		w.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
}

// parallel is how many orders of a batch are sent at the same time.
const parallel = 8

// Plan plans the servers.
func (a *Agent) Plan(ctx context.Context, asked flow.Plan) ([]flow.Planned, error) {
	set, err := asked.Rules.Set()
	if err != nil {
		return nil, err
	}
	defer alive(ctx)()
	plans, err := a.Members.Plan(ctx, set, asked.Servers)
	for i := range plans {
		plans[i].Why = flow.Cut(plans[i].Why)
	}
	return plans, err
}

// alive sends heartbeats until its result is called.
func alive(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			activity.RecordHeartbeat(ctx)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// Order gives members their orders, and returns what they report then. Of a barrier it waits for their locks.
func (a *Agent) Order(ctx context.Context, asked flow.Order) (flow.Ordered, error) {
	set, err := asked.Rules.Set()
	if err != nil {
		return flow.Ordered{}, err
	}
	defer alive(ctx)()
	out := flow.Ordered{Errors: map[string]string{}}
	var mu sync.Mutex
	var sent sync.WaitGroup
	turns := make(chan bool, parallel)
	for _, action := range asked.Actions {
		if !action.Verb.OfBarrier() {
			turns <- true
		}
		sent.Go(func() {
			err := a.Members.Do(ctx, set, action)
			if !action.Verb.OfBarrier() {
				<-turns
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				out.Errors[action.Key()] = flow.Cut(err.Error())
			}
		})
	}
	sent.Wait()
	out.Reports = a.obeyed(ctx, set, asked.Actions)
	return out, nil
}

// obeyed returns the reports of members that have had an order just now. Members of a barrier have until their locks
// would end; errors are left to the watch.
func (a *Agent) obeyed(ctx context.Context, set rollout.Set, actions []rollout.Action) []rollout.Report {
	orders, barrier := map[string]uint64{}, false
	for _, action := range actions {
		orders[action.Server] = action.Order
		barrier = barrier || action.Verb == rollout.VerbPrepare
	}
	for end := time.Now().Add(set.Defaults().Swap.Hold); ; {
		reports, err := a.Members.Reports(ctx, set)
		var theirs []rollout.Report
		for _, r := range reports {
			if order, is := orders[r.Server]; is && r.Order >= order {
				theirs = append(theirs, short(r))
			}
		}
		if !barrier || err == nil && len(theirs) == len(orders) && prepared(theirs) || !time.Now().Before(end) {
			return theirs
		}
		select {
		case <-ctx.Done():
			return theirs
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func prepared(reports []rollout.Report) bool {
	for _, r := range reports {
		if r.Status == rollout.StatusReady || r.Status == rollout.StatusRunning {
			return false
		}
	}
	return true
}

func short(r rollout.Report) rollout.Report {
	r.Why = flow.Cut(r.Why)
	return r
}

// Watch sends the workflow what members report, as signals, until the workflow has ended, or wants no more. It begins
// with a greeting. What could not be sent is sent again.
func (a *Agent) Watch(ctx context.Context, asked flow.Watch) error {
	set, err := asked.Rules.Set()
	if err != nil {
		return err
	}
	every := a.Every
	if every == 0 {
		every = time.Second
	}
	sent := maps.Clone(asked.Known)
	if sent == nil {
		sent = map[string]uint64{}
	}
	w := watch{set: set, asked: asked, sent: sent, waits: map[string]string{}, hello: true}
	for turn := 1; ; turn++ {
		activity.RecordHeartbeat(ctx)
		err := a.report(ctx, &w)
		var gone *serviceerror.NotFound
		switch {
		case errors.As(err, &gone): // the set is over
			return nil
		case err != nil && a.Turns > 0:
			return err
		case err != nil:
			activity.GetLogger(ctx).Warn("cannot report", "set", set.ID, "error", err)
		}
		if turn == a.Turns {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}

// watch is the work of Watch.
type watch struct {
	set   rollout.Set
	asked flow.Watch
	sent  map[string]uint64 // versions, by server
	waits map[string]string // the sets for which they wait, by server
	world flow.Packed       // that was sent
	hello bool              // not sent yet
}

// report sends the reports that are newer than those that were sent, and what has changed around the members.
func (a *Agent) report(ctx context.Context, w *watch) error {
	world, err := a.world(ctx, w.asked)
	if err != nil {
		return err
	}
	reports, err := a.Members.Reports(ctx, w.set)
	if err != nil {
		return fmt.Errorf("ask the members of set %s: %w", w.set.ID, err)
	}
	var news []rollout.Report
	for _, r := range reports {
		if r.Version > w.sent[r.Server] || r.WaitsFor != w.waits[r.Server] {
			news = append(news, short(r))
		}
	}
	for changed := !bytes.Equal(world, w.world); w.hello || changed || len(news) > 0; {
		part := news[:min(len(news), flow.MostReports)]
		r := flow.Reported{Agents: w.asked.Agents, Hello: w.hello, Reports: part}
		if changed {
			r.World = world
		}
		err := a.Client.SignalWorkflow(ctx, activity.GetInfo(ctx).WorkflowExecution.ID, "", flow.ReportSignal, r)
		if err != nil {
			return err
		}
		for _, r := range part {
			w.sent[r.Server], w.waits[r.Server] = r.Version, r.WaitsFor
		}
		w.world, w.hello, changed, news = world, false, false, news[len(part):]
	}
	return nil
}

// world is what these agents know: of members, and of other servers with their label.
func (a *Agent) world(ctx context.Context, asked flow.Watch) (flow.Packed, error) {
	world, err := a.Members.World(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for the servers and freezes of queue %s: %w", asked.Agents, err)
	}
	world.Servers = maps.Clone(world.Servers)
	maps.DeleteFunc(world.Servers, func(server string, labels map[string]string) bool {
		_, member := asked.Known[server]
		return !member && flow.QueueOf(labels) != asked.Agents
	})
	world.Problems = world.Problems[:min(len(world.Problems), flow.MostProblems)]
	return flow.Pack(world)
}

var _ signaler = client.Client(nil)
