package rollout

// report takes over what a member reports, unless it is older than what is known.
func (c *core) report(m *Member, r Report) {
	if r.Version >= m.Version && r.Attempt == m.Attempt {
		m.WaitsFor = r.WaitsFor // it has no version: the other set changes it
	}
	if r.Version <= m.Version {
		return
	}
	m.Version, m.Obeyed = r.Version, max(m.Obeyed, r.Order)
	if r.Attempt != m.Attempt {
		return
	}
	switch m.Step {
	case StepStarted, StepReady, StepReleased, StepUnknown:
		if m.Undo {
			c.undoReport(m, r)
			return
		}
		c.changeReport(m, r)
	case StepUndoing:
		c.undoReport(m, r)
	case StepDone:
		if r.Status == StatusUndone && !m.Undo {
			c.changeReport(m, r)
		}
	}
}

// changeReport is about the change of a member.
func (c *core) changeReport(m *Member, r Report) {
	m.Why = r.Why
	switch r.Status {
	case StatusRunning:
		m.Began = true
		m.move(StepStarted) // a member that was ready was begun again, without the set
	case StatusReady, StatusPrepared:
		m.Began, m.Failed = true, false
		if m.Step != StepReleased {
			m.move(StepReady)
		}
		if r.Status == StatusPrepared {
			m.Round, m.Hold = r.Round, r.Hold
		}
	case StatusDone:
		m.move(StepDone)
		c.s.Swaps++
		m.Swapped, m.SwappedAt, m.Failed, m.Again = c.s.Swaps, c.f.Now, false, false
	case StatusFailed:
		c.fail(m, r.Temporary)
	case StatusWithdrawn, StatusAborted:
		switch {
		case c.s.Phase == PhaseCancelling || c.s.Phase == PhaseRecalling:
			m.move(StepWithdrawn)
		case m.Step == StepStarted && m.Last.Verb == VerbWithdraw && r.Status == StatusWithdrawn: // by the stop rule
			m.move(StepPlanned)
			m.Tries = 0
		default: // by a person, without the set
			c.fail(m, false)
		}
	case StatusUndone: // by a person, without the set
		m.Swapped = 0
		c.fail(m, false)
	case StatusUnknown:
		m.move(StepUnknown)
	}
}

// undoReport is about the undo of a member.
func (c *core) undoReport(m *Member, r Report) {
	m.Why = r.Why
	switch r.Status {
	case StatusUndone:
		m.move(StepUndone)
		m.Swapped = 0
	case StatusUnknown:
		m.move(StepUnknown)
	case StatusFailed:
		c.fail(m, r.Temporary)
	case StatusDone, StatusWithdrawn, StatusAborted: // the change is still there
		c.fail(m, true)
	}
}

// fail lets a member wait for its next attempt, or for a person.
func (c *core) fail(m *Member, temporary bool) {
	ending := c.s.Phase == PhaseCancelling || c.s.Phase == PhaseRecalling
	switch {
	case temporary && !ending && m.Tries < c.set.Retry.Attempts:
		m.move(StepRetrying)
		m.NotBefore = c.f.Now.Add(c.wait(m))
	case m.Undo:
		m.move(StepStuck)
	default:
		m.move(StepFailed)
		m.Failed, m.Again = true, false
	}
}
