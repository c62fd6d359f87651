package flow

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"midstream/internal/fleet/rollout"
)

// conductor is one run of a set's workflow.
type conductor struct {
	in     Input
	tuning Tuning
	set    rollout.Set
	Carried

	agents map[string]*agents // by name
	names  []string           // sorted
	of     map[string]*agents // by server

	// reports, requests and planned are news for the next decision.
	reports  []rollout.Report
	requests []rollout.Request
	planned  []string
	// planTurns counts the plans of each server in this run.
	planTurns map[string]int
	// dirty is whether an activity has brought something. inFlight counts the activities whose loss costs work.
	dirty    bool
	inFlight int
	showing  bool
	phase    string // that the search attributes have
	// trouble has why orders could not be given, by server.
	trouble map[string]string
	alarm   *alarm
	// worlds is whether the set began with a build whose agents report their worlds.
	worlds bool
}

// agents are those with one name, and the servers that they serve.
type agents struct {
	name    string
	servers []string
	// sending has the keys of the orders on their way.
	sending map[string]bool
	// resend is when orders without a report are sent again, and pause the time after that.
	resend time.Time
	pause  time.Duration
	away   bool
	// stop ends the watch; nil if there is none. watch is when another one may begin.
	stop  workflow.CancelFunc
	watch time.Time
	// planning is whether a plan is on its way. replan is when servers that do not fit are planned again.
	planning bool
	replan   time.Time
}

// Set is the workflow of a change set. It ends when nothing can happen any more: the set has ended, and no member has
// an undo.
func Set(ctx workflow.Context, in Input) (Result, error) {
	c, err := newConductor(in)
	if err != nil {
		return Result{}, err
	}
	err = workflow.SetQueryHandler(ctx, StatusQuery, c.status)
	if err != nil {
		return Result{}, err
	}
	c.worlds = workflow.GetVersion(ctx, WorldsVersion, workflow.DefaultVersion, 1) > workflow.DefaultVersion
	for {
		c.drain(ctx)
		now := workflow.Now(ctx)
		fresh, err := c.decide(now)
		if err != nil {
			return Result{}, err
		}
		if err := c.attributes(ctx); err != nil {
			return Result{}, err
		}
		if c.over(now) {
			c.lastCards(ctx)
			return c.result(), nil
		}
		c.send(ctx, now, fresh)
		c.plan(ctx, now)
		c.watches(ctx, now)
		c.cards(ctx)
		if c.long(ctx) {
			return Result{}, c.continued(ctx)
		}
		if err := c.rest(ctx, now); err != nil {
			return Result{}, err
		}
	}
}

func newConductor(in Input) (*conductor, error) {
	c := &conductor{in: in, tuning: in.Tuning.Defaults()}
	c.agents, c.of, c.planTurns, c.trouble = map[string]*agents{}, map[string]*agents{}, map[string]int{}, map[string]string{}
	var err error
	if c.set, err = in.Rules.Set(); err != nil {
		return nil, err
	}
	if err = in.Packed.Unpack(&c.Carried); err != nil {
		return nil, err
	}
	if c.Plans == nil {
		c.Plans = map[string]Planned{}
	}
	if c.Worlds == nil {
		c.Worlds = map[string]World{}
	}
	if c.Shown == nil {
		c.Shown = map[string]rollout.Step{}
	}
	for i := range c.State.Members {
		m := &c.State.Members[i]
		name := QueueOf(m.Labels)
		a := c.agents[name]
		if a == nil {
			a = &agents{name: name, sending: map[string]bool{}}
			c.agents[name] = a
			c.names = append(c.names, name)
		}
		a.servers = append(a.servers, m.Server)
		c.of[m.Server] = a
	}
	slices.Sort(c.names)
	return c, nil
}

// decide lets the core decide by the news, and returns the orders that are new.
func (c *conductor) decide(now time.Time) ([]rollout.Action, error) {
	c.Freezes = slices.DeleteFunc(c.Freezes, func(f Frozen) bool { return !f.Until.IsZero() && !now.Before(f.Until) })
	facts := rollout.Facts{
		Now: now, Servers: c.servers(), Plans: c.outcomes(), Reports: c.reports, Freezes: c.freezes(), Requests: c.requests,
	}
	c.reports, c.requests, c.planned = nil, nil, nil
	var actions []rollout.Action
	c.State, actions = rollout.Next(c.set, c.State, facts)
	return actions, nil
}

// over reports whether nothing can happen any more.
func (c *conductor) over(now time.Time) bool {
	return c.State.Phase.Ended() && !slices.ContainsFunc(c.State.Members, func(m rollout.Member) bool { return now.Before(c.undoUntil(m)) })
}

// undoUntil is when the undo of a member of an ended set ends. Zero: there is none.
func (c *conductor) undoUntil(m rollout.Member) time.Time {
	if c.set.Undo == 0 || m.Step != rollout.StepDone || c.State.Phase == rollout.PhaseUndone {
		return time.Time{}
	}
	return m.SwappedAt.Add(c.set.Undo)
}

func (c *conductor) result() Result {
	r := c.State.Result()
	return Result{c.State.Phase, len(r.Changed), r.Unchanged[:min(len(r.Unchanged), mostNames)], r.Unknown[:min(len(r.Unknown), mostNames)]}
}

// long reports whether the history is long enough for another run, and no activity would be lost. If there is always
// one, a history of twice the length ends the wait: what is lost is done again.
func (c *conductor) long(ctx workflow.Context) bool {
	const bytes = 8 << 20 // Temporal ends a history at 50 MB
	info := workflow.GetInfo(ctx)
	events, size := info.GetCurrentHistoryLength(), info.GetCurrentHistorySize()
	switch {
	case c.arrived(ctx):
		return false
	case events >= 2*c.tuning.Events, size >= 2*bytes:
		return true
	}
	return c.inFlight == 0 && (events >= c.tuning.Events || size >= bytes)
}

// continued begins another run.
func (c *conductor) continued(ctx workflow.Context) error {
	in := c.in
	in.Run++
	var err error
	if in.Packed, err = Pack(c.Carried); err != nil {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, SetWorkflow, in)
}

// attributes keeps the search attributes up to date.
func (c *conductor) attributes(ctx workflow.Context) error {
	wave := ""
	for _, w := range c.State.Waves {
		if wave = w.Name; w.Phase != rollout.WavePassed {
			break
		}
	}
	phase := string(c.State.Phase) + "\x00" + wave
	if phase == c.phase {
		return nil
	}
	c.phase = phase
	s := Search()
	state := s.State.ValueSet(string(c.State.Phase))
	return workflow.UpsertTypedSearchAttributes(ctx, s.Set.ValueSet(c.set.ID), state, s.Wave.ValueSet(wave))
}

func (c *conductor) status() (Status, error) {
	s := Status{Rules: c.in.Rules, Run: c.in.Run, Joined: c.joined(), Trouble: c.trouble}
	for _, name := range c.names {
		if _, known := c.Worlds[name]; c.agents[name].away || c.worlds && !known && !c.State.Phase.Ended() {
			s.Away = append(s.Away, name)
		}
	}
	var err error
	s.Packed, err = Pack(c.Carried)
	return s, err
}

// drain takes all signals that have arrived.
func (c *conductor) drain(ctx workflow.Context) {
	reports := workflow.GetSignalChannel(ctx, ReportSignal)
	for r := (Reported{}); reports.ReceiveAsync(&r); r = (Reported{}) {
		c.reports = append(c.reports, r.Reports...)
		c.learn(r)
		if a := c.agents[r.Agents]; a != nil && (r.Hello || a.away) {
			a.away, a.pause, a.resend = false, 0, time.Time{}
		}
	}
	freezes := workflow.GetSignalChannel(ctx, FreezeSignal)
	for f := (Frozen{}); freezes.ReceiveAsync(&f); f = (Frozen{}) {
		c.unfreeze(f)
		if _, err := f.Freeze(); err == nil && len(c.Freezes) < mostFreezes {
			c.Freezes = append(c.Freezes, f)
		}
	}
	unfreezes := workflow.GetSignalChannel(ctx, UnfreezeSignal)
	for f := (Frozen{}); unfreezes.ReceiveAsync(&f); f = (Frozen{}) {
		c.unfreeze(f)
	}
	for _, ask := range Asks() {
		requests := workflow.GetSignalChannel(ctx, string(ask))
		for r := (Request{}); requests.ReceiveAsync(&r); r = (Request{}) {
			c.take(ask, r)
		}
	}
}

// unfreeze lifts the freeze of the same servers.
func (c *conductor) unfreeze(f Frozen) {
	c.Freezes = slices.DeleteFunc(c.Freezes, func(old Frozen) bool { return old.Server == f.Server && old.Selector == f.Selector })
}

// take numbers a request, unless it was taken before.
func (c *conductor) take(ask rollout.Ask, r Request) {
	if r.ID != "" && slices.ContainsFunc(c.Asked, func(a Asked) bool { return a.ID == r.ID }) {
		return
	}
	unfit := func(m rollout.Member) bool { return m.Server == r.Server && m.Outcome != rollout.OutcomeFit }
	if ask == rollout.AskAgain && slices.ContainsFunc(c.State.Members, unfit) {
		delete(c.Plans, r.Server) // it needs another one at once
	}
	c.Number++
	c.Asked = append(c.Asked, Asked{r.ID, c.Number})
	if n := len(c.Asked); n > mostAsked {
		c.Asked = slices.Delete(c.Asked, 0, n-mostAsked)
	}
	c.requests = append(c.requests, rollout.Request{Number: c.Number, Ask: ask, Wave: r.Wave, Server: r.Server, By: r.By})
}

// arrived reports whether a signal waits.
func (c *conductor) arrived(ctx workflow.Context) bool {
	for _, name := range append([]rollout.Ask{ReportSignal, FreezeSignal, UnfreezeSignal}, Asks()...) {
		if workflow.GetSignalChannel(ctx, string(name)).Len() > 0 {
			return true
		}
	}
	return false
}

// Answer is the answer to a request with an id: whether it was handled, and why it was refused.
func (c Carried) Answer(id string) (handled bool, refused string) {
	i := slices.IndexFunc(c.Asked, func(a Asked) bool { return a.ID == id })
	if i < 0 {
		return false, ""
	}
	j := slices.IndexFunc(c.State.Answers, func(a rollout.Answer) bool { return a.Number == c.Asked[i].Number })
	if j < 0 {
		return false, ""
	}
	return true, c.State.Answers[j].Refused
}

// String names what a freeze covers.
func (f Frozen) String() string {
	switch {
	case f.Server != "":
		return "server " + f.Server
	case f.Selector != "":
		return fmt.Sprintf("servers with %s", f.Selector)
	}
	return "all servers"
}
