package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// mostAnswers is the number of answers that the state keeps.
const mostAnswers = 100

// answer keeps the answer to a request.
func (c *core) answer(number uint64, refused string) {
	c.s.Answers = append(c.s.Answers, Answer{number, refused})
	if n := len(c.s.Answers); n > mostAnswers {
		c.s.Answers = slices.Delete(c.s.Answers, 0, n-mostAnswers)
	}
}

// request does what a person asks for. It returns why it does not, or nothing.
func (c *core) request(r Request) (refused string) {
	if c.s.Phase.Ended() && r.Ask != AskUndo {
		return "the set has ended: it is " + string(c.s.Phase)
	}
	switch r.Ask {
	case AskApprove:
		return c.approve(r)
	case AskRelease:
		return c.releaseBy(r)
	case AskAgain:
		return c.again(r)
	case AskSkip:
		return c.skip(r)
	case AskCancel:
		if c.s.Phase != PhaseChecking && c.s.Phase != PhaseRunning && c.s.Phase != PhaseStopped {
			return "the set is " + string(c.s.Phase)
		}
		c.phase(PhaseCancelling)
		c.s.Why = ""
		return ""
	case AskUndo:
		return c.undoBy()
	}
	return fmt.Sprintf("unknown request %q", r.Ask)
}

func (c *core) approve(r Request) string {
	i := slices.IndexFunc(c.s.Waves, func(w WaveState) bool { return w.Name == r.Wave })
	switch {
	case i < 0:
		return fmt.Sprintf("the set has no wave %q", r.Wave)
	case c.s.Waves[i].Phase != WaveToApprove:
		return fmt.Sprintf("wave %s is %s: it can be approved once it has swapped and soaked", r.Wave, c.s.Waves[i].Phase)
	case r.By == "":
		return "an approval needs a name"
	case r.By == c.set.Author:
		return r.By + " submitted the set: another person must approve"
	case len(c.set.Waves[i].Approvers) > 0 && !slices.Contains(c.set.Waves[i].Approvers, r.By):
		return fmt.Sprintf("%s may not approve wave %s: only %s may", r.By, r.Wave, strings.Join(c.set.Waves[i].Approvers, ", "))
	}
	c.s.Waves[i].ApprovedBy = r.By
	return ""
}

// releaseBy releases what the request names: a member, or a wave, whatever it is doing now. Without a name it releases
// what is ready at this moment, and nothing that a person has not seen.
func (c *core) releaseBy(r Request) string {
	if c.set.Swap.When != WhenReleased {
		return "members of this set swap when " + string(c.set.Swap.When) + ", without a release"
	}
	n, named := 0, r.Server != "" || r.Wave != ""
	for i := range c.s.Members {
		m := &c.s.Members[i]
		if (r.Server == "" || r.Server == m.Server) && (r.Wave == "" || r.Wave == c.s.Waves[m.Wave].Name) && (named || m.Step == StepReady) {
			m.Released = true
			n++
		}
	}
	switch {
	case n == 0 && !named:
		return "no member is ready: name a wave or a server, and its members swap once they are"
	case n == 0:
		return "the set has no such member or wave"
	}
	return ""
}

// again gives a failed member another attempt.
func (c *core) again(r Request) string {
	m := c.member(r.Server)
	switch {
	case m == nil:
		return fmt.Sprintf("the set has no member %q", r.Server)
	case m.Step == StepFailed && (c.s.Phase == PhaseRunning || c.s.Phase == PhaseStopped):
		m.move(StepPlanned)
		m.Again = m.Outcome == OutcomeFit
		if !m.Again {
			m.Outcome = "" // it needs another plan
		}
	case m.Step == StepStuck && c.s.Phase == PhaseUndoing:
		m.move(StepDone)
		m.Again = true
	default:
		return fmt.Sprintf("member %s is %s, and the set is %s: only a failed member of a set at work can run again", r.Server, m.Step, c.s.Phase)
	}
	m.Tries = 0
	return ""
}

// skip takes a member out of the set.
func (c *core) skip(r Request) string {
	m := c.member(r.Server)
	if m == nil {
		return fmt.Sprintf("the set has no member %q", r.Server)
	}
	switch m.Step {
	case StepPlanned, StepRetrying, StepFailed, StepStuck:
	case StepUnknown:
		m.Unknown = true
	default:
		return fmt.Sprintf("member %s is %s: only a member that does not run, and has not swapped, can be skipped", r.Server, m.Step)
	}
	m.move(StepSkipped)
	m.Failed, m.Why = false, "skipped by "+r.By
	return ""
}
