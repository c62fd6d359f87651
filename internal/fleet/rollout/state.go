package rollout

import (
	"slices"
	"time"
)

// Phase is how far a set is.
type Phase string

// The phases of a set.
const (
	PhaseChecking   Phase = "checking" // the fleet plan is not complete, or names members that hold the set up
	PhaseRunning    Phase = "running"
	PhaseStopped    Phase = "stopped" // by the stop rule
	PhaseCancelling Phase = "cancelling"
	PhaseRecalling  Phase = "recalling" // before an undo: members that have not swapped end
	PhaseUndoing    Phase = "undoing"
	PhaseFinished   Phase = "finished"
	PhaseCancelled  Phase = "cancelled"
	PhaseUndone     Phase = "undone"
)

// Phases lists the phases.
func Phases() []Phase {
	return []Phase{
		PhaseChecking, PhaseRunning, PhaseStopped, PhaseCancelling, PhaseRecalling, PhaseUndoing, PhaseFinished, PhaseCancelled,
		PhaseUndone,
	}
}

// Ended reports whether nothing more happens unless a person asks for an undo.
func (p Phase) Ended() bool { return p == PhaseFinished || p == PhaseCancelled || p == PhaseUndone }

// Step is how far a member is.
type Step string

// The steps of a member.
const (
	StepPlanned   Step = "planned"
	StepStarted   Step = "started"
	StepReady     Step = "ready"
	StepReleased  Step = "released"
	StepRetrying  Step = "retrying"
	StepFailed    Step = "failed"
	StepUnknown   Step = "unknown"
	StepDone      Step = "done"
	StepApplied   Step = "applied" // had the change before the set
	StepSkipped   Step = "skipped"
	StepWithdrawn Step = "withdrawn"
	StepUndoing   Step = "undoing"
	StepStuck     Step = "stuck" // its undo has failed
	StepUndone    Step = "undone"
)

// Steps lists the steps.
func Steps() []Step {
	return []Step{
		StepPlanned, StepStarted, StepReady, StepReleased, StepRetrying, StepFailed, StepUnknown, StepDone, StepApplied, StepSkipped,
		StepWithdrawn, StepUndoing, StepStuck, StepUndone,
	}
}

// WavePhase is how far a wave is.
type WavePhase string

// The phases of a wave.
const (
	WaveWaiting   WavePhase = "waiting"
	WaveRunning   WavePhase = "running"
	WaveSoaking   WavePhase = "soaking"
	WaveToApprove WavePhase = "to approve"
	WavePassed    WavePhase = "passed"
)

// WavePhases lists the phases.
func WavePhases() []WavePhase {
	return []WavePhase{WaveWaiting, WaveRunning, WaveSoaking, WaveToApprove, WavePassed}
}

// State is everything that the core remembers of a set. The driver stores it before it acts.
type State struct {
	Set     string
	Phase   Phase
	Members []Member // sorted by wave, then by name
	Waves   []WaveState
	// Why says what the set waits for, for people. It may be empty.
	Why string
	// Now is the time of the last facts.
	Now time.Time
	// Handled is the number of the last request.
	Handled uint64
	// Answers are those to the last requests.
	Answers []Answer
	// Swaps counts the members that have swapped.
	Swaps int
	// Ended is when the set ended. Zero before.
	Ended time.Time
}

// WaveState is the state of a wave.
type WaveState struct {
	Name  string
	Phase WavePhase
	// Soaked is the time of the soak that has passed, by forward steps of the clock.
	Soaked time.Duration
	// ApprovedBy is the person who approved.
	ApprovedBy string
	// Open is the gate of a gated swap, or a barrier's decision. It never closes.
	Open bool
	// Round counts the rounds of a barrier. Preparing is whether the last one is at work, since RoundAt.
	Round     int
	Preparing bool
	RoundAt   time.Time
}

// Member is the state of one member.
type Member struct {
	Server string
	Wave   int
	// Labels are those that the member had when it started, or has now.
	Labels  map[string]string
	Outcome Outcome
	Step    Step
	Why     string
	// WaitsFor is another set, whose member changes the same table first.
	WaitsFor string
	// Gone is whether the server has left the inventory.
	Gone bool
	// Attempt counts starts and undos.
	Attempt int
	// Tries counts the attempts since a person asked last. NotBefore is when the next one may begin.
	Tries     int
	NotBefore time.Time
	// Failed counts for the stop rule: the member has failed, and has not been ready since.
	Failed bool
	// Again is whether a person has asked for another attempt.
	Again bool
	// Released is whether a person has released the member.
	Released bool
	// Committed is whether a barrier has decided that this attempt swaps.
	Committed bool
	// Began is whether the run of this attempt was seen.
	Began bool
	// Undo is whether the member is in an undo, or should be.
	Undo bool
	// Unknown is of a skipped member: it is not known whether it has the change.
	Unknown bool
	// Swapped is the member's place in the order of swaps, from 1. 0: not swapped.
	Swapped int
	// SwappedAt is when the swap was seen.
	SwappedAt time.Time
	// Round and Hold are the last answer to a barrier.
	Round int
	Hold  time.Duration
	// Version is that of the last report. Obeyed is its order. Last is the newest order.
	Version uint64
	Obeyed  uint64
	Last    Action
}

// Answer is the answer to a request.
type Answer struct {
	Number  uint64
	Refused string // why; empty if it was accepted
}

// Result names the members of a set that has ended by what they have now.
type Result struct {
	// Changed have the change. Unchanged do not. Unknown were skipped while it was not known.
	Changed, Unchanged, Unknown []string
}

// Result names which members have the change.
func (s State) Result() (r Result) {
	for i := range s.Members {
		switch m := &s.Members[i]; {
		case m.Step == StepUnknown || m.Unknown:
			r.Unknown = append(r.Unknown, m.Server)
		case m.Step == StepApplied || m.Swapped > 0:
			r.Changed = append(r.Changed, m.Server)
		default:
			r.Unchanged = append(r.Unchanged, m.Server)
		}
	}
	return r
}

// clone returns a copy that shares nothing that changes.
func (s State) clone() State {
	s.Members, s.Waves, s.Answers = slices.Clone(s.Members), slices.Clone(s.Waves), slices.Clone(s.Answers)
	return s
}

// settled reports whether the member is through with its part of the wave.
func (m *Member) settled() bool {
	switch m.Step {
	case StepDone, StepApplied, StepSkipped, StepFailed:
		return true
	}
	return false
}

// decided reports whether a barrier has decided that the member swaps. Earlier states have it in the order alone.
func (m *Member) decided() bool { return m.Committed || m.Last.Verb == VerbCommit }

// copies reports whether the member counts for the limits: it may be at work.
func (m *Member) copies() bool {
	return m.Step == StepStarted || m.Step == StepUndoing
}
