package rollout

import (
	"slices"
	"strings"
	"time"
)

// gates opens the gate of each wave that is complete, and conducts the barrier.
func (c *core) gates() {
	if c.set.Swap.When != WhenWaveReady && c.set.Swap.When != WhenBarrier {
		return
	}
	for i := range c.s.Waves {
		w := &c.s.Waves[i]
		if w.Phase != WaveRunning || w.Open {
			continue
		}
		ready := c.allReady(i)
		switch {
		case c.set.Swap.When == WhenBarrier:
			c.barrier(i, w, ready)
		case ready && c.s.Phase == PhaseRunning:
			w.Open = true
		}
	}
}

// allReady reports whether all members of a wave are ready that have a part in it.
func (c *core) allReady(wave int) bool {
	n := 0
	for i := range c.s.Members {
		m := &c.s.Members[i]
		if m.Wave != wave || m.Step == StepSkipped || m.Step == StepApplied {
			continue
		}
		if m.Step != StepReady {
			return false
		}
		n++
	}
	return n > 0
}

// barrier conducts one round after the other, until all members hold their locks at the same time.
// Then it decides. The decision is durable, because the driver stores the state before it sends a
// commit. Without a decision each member gives its lock back by itself.
func (c *core) barrier(wave int, w *WaveState, ready bool) {
	ready = ready && c.s.Phase == PhaseRunning && c.windowOpen()
	prepared, least := true, c.set.Swap.Hold
	for i := range c.s.Members {
		m := &c.s.Members[i]
		if m.Wave != wave || m.Step != StepReady {
			continue
		}
		ready = ready && !c.frozen(m)
		if m.Round == w.Round {
			least = min(least, m.Hold)
		} else {
			prepared = false
		}
	}
	past := c.f.Now.Sub(w.RoundAt)
	switch {
	case !w.Preparing:
		if ready && (w.Round == 0 || past < 0 || past >= c.pause(w)) {
			w.Round++
			w.Preparing, w.RoundAt = true, c.f.Now
			c.orderReady(wave, VerbPrepare, StepReady)
		}
	case ready && prepared && past >= 0 && past+c.set.Swap.Margin < least:
		w.Open, w.Preparing = true, false
		c.orderReady(wave, VerbCommit, StepReleased)
	case !ready || past < 0 || past+c.set.Swap.Margin >= least:
		w.Preparing, w.RoundAt = false, c.f.Now
		c.orderReady(wave, VerbHold, StepReady)
	}
}

// pause is the time between two rounds, the same for all members.
func (c *core) pause(w *WaveState) time.Duration { return c.set.Swap.Hold << min(w.Round, 6) }

// orderReady gives an order to all ready members of a wave.
func (c *core) orderReady(wave int, verb Verb, step Step) {
	for i := range c.s.Members {
		if m := &c.s.Members[i]; m.Wave == wave && m.Step == StepReady {
			m.move(step)
			c.order(m, verb)
		}
	}
}

// release lets members swap that may, and holds them again if a freeze begins or the window closes.
func (c *core) release() {
	for i := range c.s.Members {
		m := &c.s.Members[i]
		switch m.Step {
		case StepReady:
			if !m.decided() && c.s.Phase == PhaseRunning && c.mayRelease(m) && c.windowOpen() && !c.frozen(m) {
				m.move(StepReleased)
				c.order(m, VerbRelease)
			}
		case StepReleased:
			if m.Last.Verb == VerbRelease && (!c.windowOpen() || c.frozen(m)) {
				m.move(StepReady)
				c.order(m, VerbHold)
			}
		}
		c.commit(m)
	}
}

// commit carries a barrier's decision on: a freeze holds the member until its end, and nothing else does.
func (c *core) commit(m *Member) {
	switch frozen := c.frozen(m); {
	case !m.decided():
	case m.Step == StepReleased && frozen:
		m.move(StepReady)
		c.order(m, VerbHold)
	case m.Step == StepReady && !frozen:
		m.move(StepReleased)
		c.order(m, VerbCommit)
	}
}

// mayRelease reports whether the swap policy lets a ready member swap.
func (c *core) mayRelease(m *Member) bool {
	switch c.set.Swap.When {
	case WhenWaveReady, WhenBarrier:
		return c.s.Waves[m.Wave].Open
	case WhenReleased:
		return m.Released
	}
	return true
}

// others says for which other sets the members of a wave wait that swap together. Such a set may wait for this one on another server:
// then neither ends before a person cancels one of them.
func (c *core) others() {
	if c.s.Phase != PhaseRunning || c.set.Swap.When == WhenReady {
		return
	}
	var servers, sets []string
	for i := range c.s.Members {
		if m := &c.s.Members[i]; m.Step == StepStarted && m.WaitsFor != "" && !c.s.Waves[m.Wave].Open {
			servers = append(servers, m.Server)
			if !slices.Contains(sets, m.WaitsFor) {
				sets = append(sets, m.WaitsFor)
			}
		}
	}
	if len(servers) == 0 {
		return
	}
	slices.Sort(sets)
	what := "set " + sets[0] + ": if it waits for this one"
	if len(sets) > 1 {
		what = "sets " + strings.Join(sets, ", ") + ": if one of them waits for this one"
	}
	c.s.Why = list(servers, "waits", "wait") + " for the same table of " + what + ", cancel one of the two"
}
