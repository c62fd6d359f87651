package rollout

import (
	"cmp"
	"slices"
	"time"
)

// undoBy begins the undo of the set.
func (c *core) undoBy() string {
	switch c.s.Phase {
	case PhaseChecking, PhaseRecalling, PhaseUndoing, PhaseUndone:
		return "the set is " + string(c.s.Phase)
	}
	if c.set.Undo == 0 {
		return "the set keeps no undo"
	}
	if c.s.Phase.Ended() && !slices.ContainsFunc(c.s.Members, func(m Member) bool { return c.canUndo(&m) }) {
		return "no member has an undo any more"
	}
	c.phase(PhaseRecalling)
	c.s.Why = ""
	c.s.Ended = time.Time{}
	return ""
}

// canUndo reports whether a member has the change, and still has its undo.
func (c *core) canUndo(m *Member) bool {
	return m.Step == StepDone && !c.f.Now.After(m.SwappedAt.Add(c.set.Undo))
}

// recall ends all members that have not swapped: before the end of a cancelled set, and before an undo.
func (c *core) recall() {
	busy := false
	for i := range c.s.Members {
		m := &c.s.Members[i]
		switch m.Step {
		case StepPlanned, StepRetrying:
			m.move(StepWithdrawn)
		case StepUnknown:
			busy = true
		case StepStarted, StepReady, StepReleased:
			busy = true
			if m.decided() { // which is final
				c.commit(m)
			} else if m.Last.Verb != VerbAbort {
				c.order(m, VerbAbort)
			}
		}
	}
	switch {
	case busy:
	case c.s.Phase == PhaseCancelling:
		c.finish(PhaseCancelled)
	default:
		for i := range c.s.Members {
			if m := &c.s.Members[i]; c.canUndo(m) {
				m.Undo, m.Again, m.Tries = true, false, 0
			}
		}
		c.phase(PhaseUndoing)
	}
}

// undo takes the change back from the last wave to the first, and in a wave from the last swap to the
// first. The window does not hold it up, but a freeze does.
func (c *core) undo() {
	for wave := len(c.s.Waves) - 1; wave >= 0; wave-- {
		var due []*Member
		busy := false
		for i := range c.s.Members {
			m := &c.s.Members[i]
			if m.Wave != wave || !m.Undo {
				continue
			}
			switch m.Step {
			case StepDone, StepRetrying:
				due = append(due, m)
			case StepUndoing, StepUnknown, StepStuck:
				busy = true
			}
		}
		slices.SortFunc(due, func(a, b *Member) int { return cmp.Compare(b.Swapped, a.Swapped) })
		used := c.usage()
		for _, m := range due {
			if m.Step == StepRetrying && c.waits(m) {
				continue
			}
			if c.frozen(m) || !used.room(c.set.Limits, m) {
				break // none overtakes
			}
			used.add(m)
			c.attempt(m, VerbUndo, StepUndoing)
		}
		if busy || len(due) > 0 {
			return
		}
	}
	c.finish(PhaseUndone)
}
