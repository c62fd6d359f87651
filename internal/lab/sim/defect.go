package sim

// Defect is a mistake that is built into the world on purpose, to see that the
// simulation finds it. The code under test has no switch for it: the world calls it in
// another order, hands it something else, or tells it a lie.
type Defect int

// The defects.
const (
	NoDefect Defect = iota

	NoFirstBeat // L1: the first heartbeat is left out
	NoAwaitXA   // L1: nobody waits for XA transactions that were prepared before the start
	StartLate   // L1: the start position is read after the first row

	IgnoreBarriers // L2: a changed key does not wait for the chunk in flight
	DropInFlight   // L2: a changed key of the youngest chunk in flight counts as ahead
	EndEarly       // L2: a chunk is ended before it is committed
	SplitEqual     // L2: collation-equal keys go to different workers
	NotAlone       // L2: a widened sync runs beside others
	LooseBounds    // L2: a chunk whose bounds are equal but for letter case selects all with that string
	OldReadView    // L2: a chunk reads in the view of its bound's look-up

	RevealEarly // L3: a heartbeat returns before the engine has committed it
	XAIsCommit  // L3: XA PREPARE is taken for a commit
	LockReveals // L3: what was received is revealed under the lock without more ado

	ClaimOrder // L4: collated keys are compared by their bytes

	ReaderPosition // L5: a checkpoint takes the reader's position
	ClaimInFlight  // L5: a checkpoint claims chunks in flight
	DoneEarly      // L5: a batch is done before it is committed
	ForgetReturned // L5: a batch that is given back is done
	ResumeFresh    // L5: a resumed row copy does not delete what it finds

	NoFence      // L6: the swap does not wait for a heartbeat
	SwapPrepared // L6: the swap does not wait for prepared XA transactions
	BeatsRestart // L6: a resumed run numbers its heartbeats from 1

	IgnoreDuplicates // decision 3: INSERT IGNORE
	ChangedRange     // decision 1: a chunk deletes by range though the key changes
	UpsertGone       // decision 1: rows are overwritten though some of them are gone
	ChangedDrops     // decision 1: keys ahead are dropped though the key changes and can't be compared

	lastDefect
)
