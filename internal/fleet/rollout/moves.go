package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// move is a step from one state to others, with the reason for the diagram.
type move[T ~string] struct {
	from, to T
	why      string
}

// setMoves are all moves of a set.
var setMoves = []move[Phase]{
	{PhaseChecking, PhaseRunning, "every member fits, or is skipped"},
	{PhaseChecking, PhaseCancelling, "cancel"},
	{PhaseRunning, PhaseStopped, "stop rule"},
	{PhaseStopped, PhaseRunning, "again or skip"},
	{PhaseRunning, PhaseFinished, "last wave passed"},
	{PhaseRunning, PhaseCancelling, "cancel"},
	{PhaseStopped, PhaseCancelling, "cancel"},
	{PhaseRunning, PhaseRecalling, "undo"},
	{PhaseStopped, PhaseRecalling, "undo"},
	{PhaseCancelling, PhaseRecalling, "undo"},
	{PhaseCancelling, PhaseCancelled, "no member at work"},
	{PhaseFinished, PhaseRecalling, "undo"},
	{PhaseCancelled, PhaseRecalling, "undo"},
	{PhaseRecalling, PhaseUndoing, "no member at work"},
	{PhaseUndoing, PhaseUndone, "no member left"},
}

// memberMoves are all moves of a member.
var memberMoves = []move[Step]{
	{StepPlanned, StepStarted, "start"},
	{StepPlanned, StepApplied, "has the change"},
	{StepPlanned, StepFailed, "drift"},
	{StepPlanned, StepSkipped, "skip"},
	{StepPlanned, StepWithdrawn, "cancel"},
	{StepStarted, StepPlanned, "withdraw by the stop rule"},
	{StepStarted, StepReady, "copied and compared"},
	{StepReady, StepStarted, "begun again"},
	{StepReleased, StepStarted, "begun again"},
	{StepReady, StepReleased, "release or commit"},
	{StepReleased, StepReady, "hold"},
	{StepReleased, StepDone, "swapped"},
	{StepStarted, StepDone, "swapped"},
	{StepReady, StepDone, "swapped"},
	{StepStarted, StepRetrying, "may pass"},
	{StepReady, StepRetrying, "may pass"},
	{StepReleased, StepRetrying, "may pass"},
	{StepUnknown, StepRetrying, "may pass"},
	{StepRetrying, StepStarted, "start"},
	{StepRetrying, StepSkipped, "skip"},
	{StepRetrying, StepWithdrawn, "cancel"},
	{StepStarted, StepFailed, "fails"},
	{StepReady, StepFailed, "fails"},
	{StepReleased, StepFailed, "fails"},
	{StepUnknown, StepFailed, "fails"},
	{StepDone, StepFailed, "undone by hand"},
	{StepFailed, StepPlanned, "again"},
	{StepFailed, StepSkipped, "skip"},
	{StepStarted, StepWithdrawn, "cancel"},
	{StepReady, StepWithdrawn, "cancel"},
	{StepReleased, StepWithdrawn, "cancel"},
	{StepUnknown, StepWithdrawn, "cancel"},
	{StepStarted, StepUnknown, "no result"},
	{StepReady, StepUnknown, "no result"},
	{StepReleased, StepUnknown, "no result"},
	{StepUnknown, StepDone, "check"},
	{StepUnknown, StepSkipped, "skip"},
	{StepUnknown, StepStarted, "check"},
	{StepUnknown, StepReady, "check"},
	{StepDone, StepUndoing, "undo"},
	{StepUndoing, StepUndone, "undone"},
	{StepUndoing, StepRetrying, "may pass"},
	{StepRetrying, StepUndoing, "undo"},
	{StepUndoing, StepStuck, "fails"},
	{StepUnknown, StepStuck, "fails"},
	{StepStuck, StepDone, "again"},
	{StepStuck, StepSkipped, "skip"},
	{StepUndoing, StepUnknown, "no result"},
	{StepUnknown, StepUndone, "check"},
}

// permit panics for a move that the diagram does not have: the core would have a state that nothing was written for.
func permit[T ~string](moves []move[T], from, to T) {
	if !slices.ContainsFunc(moves, func(m move[T]) bool { return m.from == from && m.to == to }) {
		panic(fmt.Sprintf("rollout: no move from %s to %s", from, to))
	}
}

// Diagrams are the states of a set and of a member, in Mermaid, for the docs.
func Diagrams() (set, member string) {
	return diagram(setMoves, PhaseChecking), diagram(memberMoves, StepPlanned)
}

func diagram[T ~string](moves []move[T], first T) string {
	var b strings.Builder
	fmt.Fprintf(&b, "stateDiagram-v2\n    [*] --> %s\n", first)
	for _, m := range moves {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", m.from, m.to, m.why)
	}
	return b.String()
}
