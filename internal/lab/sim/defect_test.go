package sim

import (
	"strings"
	"testing"
)

// mostSeeds is the number of seeds within which each defect must be found.
const mostSeeds = 1000

// defects are the mistakes that the simulation must find. set helps with those that
// need a rare coincidence.
var defects = []struct {
	defect Defect
	name   string
	set    string
}{
	{NoFirstBeat, "L1: the first heartbeat is left out", "fill=100,rest=1,crash=100,save=1000,keychanged=false"},
	{NoAwaitXA, "L1: nobody waits for XA transactions that were prepared before the start", ""},
	{StartLate, "L1: the start position is read after the first row", ""},
	{IgnoreBarriers, "L2: a changed key does not wait for the chunk in flight", ""},
	{DropInFlight, "L2: a changed key of the youngest chunk in flight counts as ahead", ""},
	{EndEarly, "L2: a chunk is ended before it is committed", ""},
	{SplitEqual, "L2: collation-equal keys go to different workers", ""},
	{NotAlone, "L2: a widened sync runs beside others", ""},
	{LooseBounds, "L2: a chunk's bounds that differ in letter case select too much", "kind=5"},
	{OldReadView, "L2: a chunk reads in the view of its bound's look-up", "fill=100,rest=10,beat=10,chunk=2,upsert=false"},
	{RevealEarly, "L3: a heartbeat returns before the engine has committed it", ""},
	{XAIsCommit, "L3: XA PREPARE is taken for a commit", ""},
	{LockReveals, "L3: the lock reveals the keys of an XA COMMIT", "xa=40,rollback=0,hold=50"},
	{ClaimOrder, "L4: collated keys are compared by their bytes", ""},
	{ReaderPosition, "L5: a checkpoint takes the reader's position", ""},
	{ClaimInFlight, "L5: a checkpoint claims chunks in flight", ""},
	{DoneEarly, "L5: a batch is done before it is committed", ""},
	{ForgetReturned, "L5: a batch that is given back is done", ""},
	{ResumeFresh, "L5: a resumed row copy does not delete what it finds", "kind=0,keychanged=false,crash=100,deletes=60,xa=0"},
	{NoFence, "L6: the swap does not wait for a heartbeat", ""},
	{SwapPrepared, "L6: the swap does not wait for prepared XA transactions", "xa=40"},
	{BeatsRestart, "L6: a resumed run numbers its heartbeats from 1", "crash=100"},
	{IgnoreDuplicates, "decision 3: INSERT IGNORE", ""},
	{ChangedRange, "decision 1: a chunk deletes by range though the key changes", ""},
	{UpsertGone, "decision 1: rows are overwritten though some are gone", "unique=0,keychanged=false,upsert=true,deletes=60"},
	{
		ChangedDrops, "decision 1: keys ahead are dropped though the key changes and can't be compared",
		"keychanged=true,kind=4,deletes=60,keepahead=false",
	},
}

// The simulation finds every mistake that is built in on purpose.
func TestDefectsAreFound(t *testing.T) {
	if len(defects) != int(lastDefect)-1 {
		t.Errorf("%d of %d defects are tried", len(defects), int(lastDefect)-1)
	}
	for _, d := range defects {
		t.Run(strings.ReplaceAll(d.name, " ", "_"), func(t *testing.T) {
			for seed := uint64(1); seed <= mostSeeds; seed++ {
				if _, broken := Run(seed, options(t, seed, 600, d.set), d.defect); broken != nil {
					t.Logf("seed %d, step %d: %s: %s", seed, broken.Step, broken.Law, broken.What)
					return
				}
			}
			t.Errorf("not found in %d seeds", mostSeeds)
		})
	}
}

// A failure is shrunk to a run that is shorter, still fails, and can be repeated by what
// is printed.
func TestShrink(t *testing.T) {
	var broken *Violation
	for seed := uint64(1); broken == nil; seed++ {
		_, broken = Run(seed, RandomOptions(seed, 600), IgnoreDuplicates)
	}
	small := Shrink(broken, IgnoreDuplicates, 40)
	if small.Step > broken.Step {
		t.Errorf("shrunk from %d to %d steps", broken.Step, small.Step)
	}
	o := RandomOptions(small.Seed, small.Options.Steps)
	if err := o.Set(small.Options.Diff(small.Seed)); err != nil {
		t.Fatal(err)
	}
	if _, again := Run(small.Seed, o, IgnoreDuplicates); again == nil || again.Report() != small.Report() {
		t.Errorf("the printed run is another one: %v, want %v", again, small)
	}
	if !strings.Contains(small.Report(), small.Rerun()) {
		t.Error("the report does not say how to run it again")
	}
}
