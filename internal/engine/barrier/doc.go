// Package barrier is a run's part in a swap that runs on several servers make at the same moment, or not at all.
//
// Somebody conducts them in rounds:
//
//	prepare   each run that is held asks for its lock, applies the last changes, and waits under the lock until a time T
//	commit    every run is prepared, and the decision is stored: each renames at once
//	hold      a run is missing: each gives its lock back, and is held as before
//
// At T a run gives its lock back without being asked. So a conductor that dies leaves no lock, and a run renames only after a
// commit. A commit that comes after T is final as well: the run asks for the lock again, alone.
package barrier
