package rollout

import (
	"time"

	"midstream/internal/fleet/selector"
)

// Facts is what is known at one moment. Facts that are left out are as before.
type Facts struct {
	// Now is the time of the driver's clock.
	Now time.Time
	// Servers has the labels of the servers of the inventory. A member that is not there does not start. nil: no news.
	Servers map[string]map[string]string
	// Plans has the outcome of the fleet plan for each member that was planned.
	Plans map[string]Outcome
	// Reports are what members have answered: late, twice or in another order.
	Reports []Report
	// Freezes are all that exist.
	Freezes []Freeze
	// Requests are what persons ask for, in the order of their numbers. A request is handled once.
	Requests []Request
}

// Outcome is the result of the fleet plan for a member.
type Outcome string

// The outcomes.
const (
	OutcomeFit     Outcome = "fit"
	OutcomeApplied Outcome = "applied" // the member has the change already
	OutcomeDrifted Outcome = "drifted" // its definition differs from that of the others
	OutcomeRefused Outcome = "refused" // the change is refused there, or rows do not fit
)

// Status is what a member reports of itself.
type Status string

// The statuses, in the words of the queue.
const (
	StatusWaiting   Status = "waiting"
	StatusRunning   Status = "running"
	StatusReady     Status = "ready"    // copied, compared, and held before the swap
	StatusPrepared  Status = "prepared" // of a barrier: its lock is held, and drained
	StatusDone      Status = "done"
	StatusFailed    Status = "failed"
	StatusWithdrawn Status = "withdrawn" // its run never began
	StatusAborted   Status = "aborted"
	StatusUnknown   Status = "unknown" // its run does not know whether the tables were swapped
	StatusUndoing   Status = "undoing"
	StatusUndone    Status = "undone"
)

// Report is the state of one member, as the member reports it.
type Report struct {
	Server string
	// Version grows with each change of the member's state. An older report than the last one is ignored.
	Version uint64
	// Order is the newest order that the member has obeyed or refused.
	Order uint64
	// Attempt is the attempt that the status is about.
	Attempt int
	Status  Status
	// Temporary is of a failure for a reason that may pass: exit codes 14, 16 and 130, or a lost machine.
	Temporary bool
	// Why is the reason, for people.
	Why string
	// WaitsFor is of StatusWaiting: another set, whose member changes the same table first.
	WaitsFor string
	// Round and Hold are of StatusPrepared: the round of the barrier, and how long after the request the lock is held.
	Round int
	Hold  time.Duration
}

// Freeze holds starts, swaps and undos: of one server, of the servers that a selector chooses, or of all.
type Freeze struct {
	Server   string
	Selector selector.Selector
	// Until is its end. Defaults to none: until it is lifted.
	Until time.Time
}

// covers reports whether a member is frozen.
func (f Freeze) covers(now time.Time, server string, labels map[string]string) bool {
	switch {
	case !f.Until.IsZero() && !now.Before(f.Until):
		return false
	case f.Server != "":
		return f.Server == server
	case !f.Selector.IsZero():
		return f.Selector.Matches(labels)
	}
	return true
}

// Ask is what a person asks for.
type Ask string

// The requests of persons.
const (
	AskApprove Ask = "approve" // of a wave
	AskRelease Ask = "release" // of a member, a wave, or what is ready now
	AskAgain   Ask = "again"   // of a failed member
	AskSkip    Ask = "skip"    // of a member that does not run
	AskCancel  Ask = "cancel"
	AskUndo    Ask = "undo"
)

// Short is what a request does, in one line: for the verbs of each program, and the API.
func (a Ask) Short() string {
	switch a {
	case AskApprove:
		return "Approve a wave of a change set of another person"
	case AskRelease:
		return "Let members of a change set swap: of a wave, one, or all that are ready"
	case AskAgain:
		return "Give a failed member of a change set another attempt"
	case AskSkip:
		return "Take a member out of a change set"
	case AskCancel:
		return "End a change set: what has swapped stays"
	case AskUndo:
		return "Take a change set back, in reverse order"
	}
	return ""
}

// Request is what a person asks for. The store numbers requests from 1.
type Request struct {
	Number uint64
	Ask    Ask
	// Wave or Server is what the request is about. Both are empty for the set.
	Wave, Server string
	By           string
}
