package plan

import (
	"fmt"
	"time"
)

// CodeDistance is the risk that the server is too far away for the work under the lock of the swap.
const CodeDistance Code = "distance"

// LeastTrips are the round trips to the server that the work under the lock needs in any case: the last
// heartbeat, and the RENAME. TestTripsUnderTheLock counts the others.
const LeastTrips = 2

// These are round trips, one after the other, of an attempt that finds changes under the lock.
const (
	beatTrips     = 2 // one heartbeat may be on its way
	drainTrips    = 3 // a query, a statement and its COMMIT
	logTrips      = 6 // read the log of triggers to its end
	counterTrips  = 2 // read the shadow's AUTO_INCREMENT, and set it
	keyTrips      = 2 // for each foreign key: a setting, and the statement
	triggerTrips  = 5 // for each trigger: four settings
	renameTrips   = 1
	queuedTrips   = 2 // a second session renames, and is seen to wait
	sentinelTrips = 1
)

// Trips is about the number of round trips under the lock until the swap is done. underLock reports
// whether the session with the lock renames, and log whether triggers capture changes. The checks of the
// definition run at the same time.
func (s Shape) Trips(underLock, log bool) int {
	trips := beatTrips + drainTrips + counterTrips + s.declaring + renameTrips
	if log {
		trips += logTrips
	}
	if !underLock {
		trips += queuedTrips + sentinelTrips
	}
	return trips
}

// Distance is what the way to the server costs the work under the lock.
type Distance struct {
	Trip  time.Duration // one round trip
	Trips int
	Work  time.Duration // what --lock-work allows
}

// takes is how long the round trips take.
func (d Distance) takes() time.Duration { return time.Duration(d.Trips) * d.Trip }

// Fits reports whether the round trips leave time for the server's own work.
func (d Distance) Fits() bool { return Safely(d.takes()) <= d.Work }

// fix is what to do about it.
func (d Distance) fix() string {
	if wish := wishedWork(d.takes()); wish <= longestWork {
		return fmt.Sprintf("Run Midstream near the server, or, if queries may wait that long, allow more: --lock-work=%s", wish)
	}
	return "Run Midstream near the server"
}

// String is for the message of an attempt.
func (d Distance) String() string {
	return fmt.Sprintf("a round trip to the server takes %s, and the work under the lock has about %d of them. %s",
		roundTrip(d.Trip), d.Trips, d.fix())
}

func roundTrip(trip time.Duration) time.Duration {
	return max(trip.Round(time.Millisecond), time.Millisecond)
}

// checkDistance warns if the server is so far away that an attempt of the swap hardly fits the time for
// the work under the lock. The operator may raise that time during the run.
func (c *checker) checkDistance() {
	shape := Shape{}.statementsOf(len(c.table.ForeignKeys)+len(c.table.ReferencedBy), len(c.table.Triggers))
	trips := shape.Trips(c.facts.Version.renamesUnderLock(), c.captured.By == CaptureTrigger)
	d := Distance{Trip: c.facts.RoundTrip, Trips: trips, Work: c.work()}
	if d.Fits() {
		return
	}
	c.warn(
		CodeDistance,
		fmt.Sprintf(
			"a round trip to the server takes %s, and the work under the lock of the swap has about %d of them; that takes about %s, and --lock-work allows %s",
			roundTrip(d.Trip), d.Trips, round(d.takes()), round(d.Work),
		),
		"an attempt that takes longer is given up and repeated, so the run may never swap", d.fix(),
	)
}
