package rollout

import (
	"slices"
	"time"
)

// core is one call of Next.
type core struct {
	set     Set
	s       State
	f       Facts
	elapsed time.Duration // since the facts before; never negative
	actions []Action
	// byServer finds members. Made once asked.
	byServer map[string]int
	// open is whether the swap window is open, and until when. Known once asked.
	open      bool
	openUntil time.Time
	asked     bool
}

// Next returns the state that follows from new facts, and what the driver does about it. It is a pure
// function: the same arguments give the same result, and the returned state with the same facts gives
// the same state again, and no action.
//
// The driver stores the state before it carries out the actions. If it stops between the two, Pending
// has what is to be done.
func Next(set Set, s State, f Facts) (State, []Action) {
	c := &core{set: set.Defaults(), s: s.clone(), f: f}
	if !c.s.Now.IsZero() {
		c.elapsed = max(0, f.Now.Sub(c.s.Now))
	}
	c.s.Now = f.Now
	for _, r := range f.Reports {
		if m := c.member(r.Server); m != nil {
			c.report(m, r)
		}
	}
	for _, r := range f.Requests {
		if r.Number > c.s.Handled {
			c.s.Handled = r.Number
			c.answer(r.Number, c.request(r))
		}
	}
	c.inventory()
	c.decide()
	return c.s, c.actions
}

// inventory takes over labels, and what the fleet plan says of members that have not started.
func (c *core) inventory() {
	for i := range c.s.Members {
		m := &c.s.Members[i]
		if m.Step != StepPlanned && m.Step != StepRetrying {
			continue
		}
		if c.f.Servers != nil {
			if labels, has := c.f.Servers[m.Server]; has {
				m.Labels, m.Gone = labels, false
			} else {
				m.Gone = true
			}
		}
		if outcome := c.f.Plans[m.Server]; outcome != "" {
			m.Outcome = outcome
		}
	}
}

// decide carries the set on as far as the facts permit.
func (c *core) decide() {
	for i := range c.s.Members {
		if m := &c.s.Members[i]; m.Step == StepUnknown && (m.Last.Verb != VerbCheck || m.Obeyed >= m.Last.Order) {
			c.order(m, VerbCheck)
		}
	}
	if c.s.Phase == PhaseChecking {
		c.check()
	}
	if c.s.Phase == PhaseRunning || c.s.Phase == PhaseStopped {
		c.replan()
		c.stop()
		c.waves()
	}
	switch c.s.Phase {
	case PhaseRunning, PhaseStopped:
		c.gates()
		c.release()
		c.start()
		c.others()
	case PhaseCancelling, PhaseRecalling:
		c.recall()
	}
	if c.s.Phase == PhaseUndoing {
		c.undo()
	}
}

// check waits for the fleet plan of all members, and begins the rollout if it fits everywhere.
func (c *core) check() {
	var unplanned, misfits []string
	for i := range c.s.Members {
		m := &c.s.Members[i]
		switch {
		case m.Step != StepPlanned:
		case m.Outcome == "":
			unplanned = append(unplanned, m.Server)
		case m.Outcome == OutcomeApplied && c.set.SkipApplied:
			m.move(StepApplied)
		case m.Outcome != OutcomeFit:
			misfits = append(misfits, m.Server)
		}
	}
	switch {
	case len(misfits) > 0:
		c.s.Why = list(misfits, "does", "do") + " not fit by the fleet plan: fix the table, or skip the server"
	case len(unplanned) > 0:
		c.s.Why = list(unplanned, "has", "have") + " no plan yet"
	default:
		c.s.Why = ""
		c.phase(PhaseRunning)
	}
}

// replan lets members fail that do not fit any more by a newer plan.
func (c *core) replan() {
	for i := range c.s.Members {
		m := &c.s.Members[i]
		switch {
		case m.Step != StepPlanned || m.Outcome == "":
		case m.Outcome == OutcomeFit:
			m.Failed = m.Failed && m.Again // what failed by an earlier plan fits now
		case m.Outcome == OutcomeApplied && c.set.SkipApplied:
			m.move(StepApplied)
			m.Failed = false
		default:
			m.move(StepFailed)
			m.Failed, m.Why = true, "by the fleet plan: "+string(m.Outcome)
		}
	}
}

// stop applies the stop rule. It is lifted once persons have dealt with the failed members.
func (c *core) stop() {
	failed := 0
	dead := "" // a wave in which no member succeeded
	for w, i := 0, 0; w < len(c.s.Waves); w++ {
		n, of := 0, 0
		for ; i < len(c.s.Members) && c.s.Members[i].Wave == w; i++ {
			if m := &c.s.Members[i]; m.Step != StepSkipped {
				of++
				if m.Failed {
					n++
				}
			}
		}
		if of > 0 && n == of {
			dead = c.s.Waves[w].Name
		}
		failed += n
	}
	switch {
	case failed < c.set.StopAfter && dead == "":
		c.s.Why = ""
		c.phase(PhaseRunning)
		return
	case dead != "":
		c.s.Why = "stopped: in wave " + dead + " all members have failed"
	default:
		c.s.Why = "stopped: too many members have failed"
	}
	c.phase(PhaseStopped)
	for i := range c.s.Members {
		// A start on its way is taken back: it would begin after the stop.
		if m := &c.s.Members[i]; m.Step == StepStarted && !m.Began && m.Last.Verb == VerbStart && !m.Again && m.Tries == 1 {
			c.order(m, VerbWithdraw)
		}
	}
}

// waves moves the waves on, in their order, and ends the set behind the last one.
func (c *core) waves() {
	for i := range c.s.Waves {
		w := &c.s.Waves[i]
		if w.Phase == WavePassed {
			continue
		}
		if w.Phase == WaveWaiting {
			w.Phase = WaveRunning
		}
		settled, swapped, approve := true, false, false
		for j := range c.s.Members {
			if m := &c.s.Members[j]; m.Wave == i {
				approve = c.set.Waves[i].Approve // also if all are skipped: who skips does not approve
				settled = settled && m.settled()
				swapped = swapped || m.Swapped > 0
			}
		}
		switch {
		case !settled:
			w.Phase, w.Soaked, w.ApprovedBy = WaveRunning, 0, ""
			return
		case c.s.Phase == PhaseStopped:
			return
		case !swapped && !approve: // there is nothing to wait for
			w.Phase = WavePassed
			continue
		case !swapped: // there is nothing to soak
			w.Phase, w.Soaked = WaveSoaking, c.set.Waves[i].Soak
		case w.Phase == WaveRunning:
			w.Phase = WaveSoaking
		case w.Phase == WaveSoaking:
			w.Soaked += c.elapsed
		}
		if w.Phase == WaveSoaking && w.Soaked < c.set.Waves[i].Soak {
			return
		}
		if approve && w.ApprovedBy == "" {
			w.Phase = WaveToApprove
			return
		}
		w.Phase = WavePassed
	}
	// A member of a wave that has passed may run again.
	if !slices.ContainsFunc(c.s.Members, func(m Member) bool { return !m.settled() }) && c.s.Phase == PhaseRunning {
		c.finish(PhaseFinished)
	}
}

// start orders members to start, as far as waves, limits, the window and freezes permit.
func (c *core) start() {
	if !c.set.Start.Open(c.f.Now) {
		return
	}
	used := c.usage()
	for _, first := range []bool{true, false} { // repeated members come first
		for i := range c.s.Members {
			m := &c.s.Members[i]
			repeated := m.Again || m.Step == StepRetrying
			if repeated != first || !repeated && c.s.Phase == PhaseStopped || c.s.Waves[m.Wave].Phase == WaveWaiting {
				continue
			}
			if m.Step != StepPlanned && (m.Step != StepRetrying || c.waits(m)) {
				continue
			}
			if m.Gone || m.Outcome != OutcomeFit || c.frozen(m) || !used.room(c.set.Limits, m) {
				continue
			}
			used.add(m)
			c.attempt(m, VerbStart, StepStarted)
		}
	}
}

// attempt orders a start or an undo.
func (c *core) attempt(m *Member, verb Verb, step Step) {
	m.Attempt++
	m.Tries++
	m.Began, m.Committed, m.Why, m.Round = false, false, "", 0
	m.move(step)
	c.order(m, verb)
}

// waits reports whether a member has to wait before another attempt. A clock that was put back makes no wait longer.
func (c *core) waits(m *Member) bool {
	if longest := c.f.Now.Add(c.wait(m)); m.NotBefore.After(longest) {
		m.NotBefore = longest
	}
	return c.f.Now.Before(m.NotBefore)
}

// wait is the time before the next attempt.
func (c *core) wait(m *Member) time.Duration { return c.set.Retry.Wait << min(max(m.Tries-1, 0), 10) }

// order numbers an order for a member.
func (c *core) order(m *Member, verb Verb) {
	m.Last = Action{Verb: verb, Set: c.set.ID, Server: m.Server, Order: m.Last.Order + 1, Attempt: m.Attempt}
	switch verb {
	case VerbRelease:
		m.Last.Until = c.openUntil
	case VerbPrepare, VerbCommit:
		m.Last.Round = c.s.Waves[m.Wave].Round
		m.Committed = verb == VerbCommit
	}
	c.actions = append(c.actions, m.Last)
}

// frozen reports whether a freeze covers the member.
func (c *core) frozen(m *Member) bool {
	for _, f := range c.f.Freezes {
		if f.covers(c.f.Now, m.Server, m.Labels) {
			return true
		}
	}
	return false
}

// windowOpen reports whether members may swap now.
func (c *core) windowOpen() bool {
	if !c.asked {
		c.asked = true
		if c.open = c.set.Swap.Window.Open(c.f.Now); c.open {
			c.openUntil = c.set.Swap.Window.Next(c.f.Now)
		}
	}
	return c.open
}

// member finds a member by its server, or returns nil.
func (c *core) member(server string) *Member {
	if c.byServer == nil {
		c.byServer = make(map[string]int, len(c.s.Members))
		for i := range c.s.Members {
			c.byServer[c.s.Members[i].Server] = i
		}
	}
	if i, is := c.byServer[server]; is {
		return &c.s.Members[i]
	}
	return nil
}

// phase moves the set to a phase.
func (c *core) phase(to Phase) {
	if c.s.Phase != to {
		permit(setMoves, c.s.Phase, to)
		c.s.Phase = to
	}
}

// finish ends the set.
func (c *core) finish(as Phase) {
	c.phase(as)
	c.s.Ended, c.s.Why = c.f.Now, ""
	c.actions = append(c.actions, Action{Verb: VerbFinish, Set: c.set.ID})
}

// move takes a member to a step.
func (m *Member) move(to Step) {
	if m.Step != to {
		permit(memberMoves, m.Step, to)
		m.Step = to
	}
}

// usage counts the members at work, by host and by cell.
type usage struct {
	all          int
	host, cell   map[string]int
	hosts, cells bool
}

func (c *core) usage() *usage {
	u := &usage{hosts: c.set.Limits.PerHost > 0, cells: c.set.Limits.PerCell > 0, host: map[string]int{}, cell: map[string]int{}}
	for i := range c.s.Members {
		if m := &c.s.Members[i]; m.copies() {
			u.add(m)
		}
	}
	return u
}

func (u *usage) add(m *Member) {
	u.all++
	if u.hosts {
		u.host[m.Labels[LabelHost]]++
	}
	if u.cells {
		u.cell[m.Labels[LabelCell]]++
	}
}

// room reports whether one more member may work.
func (u *usage) room(l Limits, m *Member) bool {
	return (l.All == 0 || u.all < l.All) &&
		(l.PerHost == 0 || u.host[m.Labels[LabelHost]] < l.PerHost) &&
		(l.PerCell == 0 || u.cell[m.Labels[LabelCell]] < l.PerCell)
}
