package rollout

import (
	"fmt"
	"time"
)

// Verb is what an action orders.
type Verb string

// The verbs. All but Finish are orders for a member.
const (
	VerbStart    Verb = "start"    // begin or resume the change, and hold before the swap
	VerbRelease  Verb = "release"  // swap
	VerbHold     Verb = "hold"     // do not swap, and give a lock of a barrier back
	VerbPrepare  Verb = "prepare"  // of a barrier: lock, drain, and report for how long
	VerbCommit   Verb = "commit"   // of a barrier: swap at once, or, if the lock is gone, as soon as there is another one
	VerbWithdraw Verb = "withdraw" // take a start back, unless the run has begun
	VerbAbort    Verb = "abort"    // end the run, unless it has swapped
	VerbCheck    Verb = "check"    // look at the tables: is the change there?
	VerbUndo     Verb = "undo"
	VerbFinish   Verb = "finish" // the set has ended
)

// OfBarrier reports whether members hold locks meanwhile, so that no order waits for another one.
func (v Verb) OfBarrier() bool { return v == VerbPrepare || v == VerbCommit }

// Action is what the driver does. It may do it late, twice, or in another order: a member ignores an order whose
// number is not above the newest one that it has had.
type Action struct {
	Verb   Verb
	Set    string
	Server string // empty for Finish
	// Order is the number of the order among those for the member.
	Order   uint64
	Attempt int
	// Round is that of a barrier.
	Round int
	// Until is the end of the window: a later swap is not permitted. Zero: no end.
	Until time.Time
}

// Key identifies the action. Two actions with the same key are the same.
func (a Action) Key() string {
	if a.Server == "" {
		return a.Set + "#" + string(a.Verb)
	}
	return fmt.Sprintf("%s/%s#%d", a.Set, a.Server, a.Order)
}

// Pending are the actions that were decided and whose effect no report has shown. A driver sends them
// after its start, and again from time to time.
func (s State) Pending() (actions []Action) {
	for i := range s.Members {
		if m := &s.Members[i]; m.Last.Order > m.Obeyed {
			actions = append(actions, m.Last)
		}
	}
	if s.Phase.Ended() {
		actions = append(actions, Action{Verb: VerbFinish, Set: s.Set})
	}
	return actions
}
