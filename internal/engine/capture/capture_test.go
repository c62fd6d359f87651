package capture

import (
	"context"
	"testing"

	"midstream/internal/engine/backlog"
	"midstream/internal/engine/frontier"
	"midstream/internal/engine/key"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/schema"
)

// rig is a capture between a scripted binlog and a real backlog, with the row copy done.
type rig struct {
	*Capture
	t       *testing.T
	backlog *backlog.Backlog
	at      uint64 // end of the last group
	beat    func() // called during a heartbeat's commit
}

func setup(t *testing.T) *rig {
	t.Helper()
	codec, err := key.NewCodec([]key.Part{{Column: schema.Column{Name: "id", DataType: "bigint", Type: "bigint"}}})
	if err != nil {
		t.Fatal(err)
	}
	tracker := frontier.New(codec)
	tracker.End(tracker.Begin(""))
	r := &rig{t: t, at: 4, beat: func() {}}
	r.backlog = backlog.New(backlog.Config{Partition: codec.Partition}, tracker)
	r.Capture = New(Config{}, Deps{
		Key: codec, Backlog: r.backlog,
		Beat: func(context.Context, uint64) error { r.beat(); return nil },
	}, Point{Position: position(4)})
	return r
}

func position(offset uint64) binlog.Position {
	return binlog.Position{File: "binlog.000001", Offset: offset}
}

func (r *rig) rows(ids ...int64) {
	r.t.Helper()
	r.handle(false, ids)
}

// xaRows are rows of a group that began with XA START.
func (r *rig) xaRows(ids ...int64) {
	r.t.Helper()
	r.handle(true, ids)
}

func (r *rig) handle(xa bool, ids []int64) {
	r.t.Helper()
	for _, id := range ids {
		if err := r.Handle(binlog.Rows{Watch: watchSource, Tuples: [][]any{{id}}, MayBeXA: xa}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// end ends a group of ten bytes.
func (r *rig) end(event func(end binlog.Position) binlog.Event) {
	r.t.Helper()
	r.at += 10
	if err := r.Handle(event(position(r.at))); err != nil {
		r.t.Fatal(err)
	}
}

func commit(end binlog.Position) binlog.Event { return binlog.Commit{End: end} }

func prepare(end binlog.Position) binlog.Event { return binlog.XAPrepared{XID: "x", End: end} }

func xaCommit(end binlog.Position) binlog.Event {
	return binlog.XAResolved{XID: "x", Committed: true, End: end}
}

func (r *rig) heartbeat() {
	r.t.Helper()
	if err := r.Beat(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// apply syncs every key that may be synced.
func (r *rig) apply() (keys int) {
	for {
		batch := r.backlog.TryTake(0, 100)
		if batch == nil {
			return keys
		}
		keys += len(batch.Keys)
		r.backlog.Done(batch)
	}
}

func (r *rig) safeIs(want uint64, why string) {
	r.t.Helper()
	if got := r.Safe().Position; got != position(want) {
		r.t.Errorf("safe position is %s, want %s: %s", got, position(want), why)
	}
}

// The event of XA COMMIT holds no rows: a run that resumes reading after XA PREPARE would never see
// the keys.
func TestL5_PositionStaysBeforeAnXATransactionUntilItIsSynced(t *testing.T) {
	r := setup(t)
	r.end(commit)
	r.xaRows(1)
	r.end(prepare) // from 14 to 24
	r.heartbeat()
	r.apply()
	r.safeIs(14, "the transaction is prepared")

	r.end(commit)
	r.heartbeat()
	r.rows(2) // its position is after that
	r.end(commit)
	r.heartbeat()
	r.end(xaCommit)
	r.safeIs(14, "the transaction is committed, and not revealed")
	r.heartbeat()
	r.safeIs(14, "the transaction is revealed, and not synced")
	r.apply()
	r.heartbeat()
	r.safeIs(r.at, "the transaction is synced")
}

func TestL5_PositionIsNotHeldByXATransactionsOfOtherTables(t *testing.T) {
	r := setup(t)
	r.end(prepare)
	r.end(commit)
	r.heartbeat()
	r.safeIs(r.at, "no row of the source is prepared")
}

// If the position stayed the same while nothing changes, its binlog would be purged.
func TestL5_PositionMovesWhileTheSourceIsQuiet(t *testing.T) {
	r := setup(t)
	for range 3 {
		r.end(commit)
		r.heartbeat()
		r.safeIs(r.at, "nothing is in the backlog")
	}
	r.rows(1)
	r.end(commit)
	r.heartbeat()
	r.safeIs(r.at-10, "the key is not synced")
	r.apply()
	r.heartbeat()
	r.safeIs(r.at, "the key is synced")
}

func TestL5_PositionIsThatOfTheGroupWhoseRowsAreBeingReceived(t *testing.T) {
	r := setup(t)
	r.end(commit)
	r.rows(1)
	r.heartbeat()
	r.apply()
	r.heartbeat()
	r.safeIs(14, "the group is not complete")
	r.rows(2)
	r.end(commit)
	r.safeIs(14, "its second half is not synced")
}

// On servers before 9, the metadata lock of the cut-over does not delay the XA COMMIT of a
// transaction that is detached from its session: capture may receive its event before the engine
// has committed.
func TestL3_LockDoesNotRevealAnXACommit(t *testing.T) {
	r := setup(t)
	r.xaRows(1)
	r.end(prepare)
	r.heartbeat()
	r.apply()
	r.rows(2)
	r.end(commit)
	r.heartbeat()
	r.rows(3)
	r.end(commit)
	r.end(xaCommit)
	r.RevealAll()
	if got := r.apply(); got != 1 {
		t.Errorf("%d keys were revealed by the lock, want the 1 before the XA transaction's", got)
	}
	if r.backlog.Len() == 0 {
		t.Error("the backlog looks drained")
	}
	r.heartbeat()
	r.RevealAll()
	if got := r.apply(); got != 2 || r.backlog.Len() != 0 {
		t.Errorf("%d keys were revealed after the heartbeat, %d are left, want 2 and 0", got, r.backlog.Len())
	}
}

func TestL3_LockDoesNotRevealTheFirstOfTwoXACommits(t *testing.T) {
	r := setup(t)
	r.xaRows(1)
	r.end(prepare)
	r.heartbeat()
	r.apply()
	r.end(xaCommit)
	r.beat = func() { // this seals the first group's keys
		r.xaRows(2)
		r.end(prepare)
		r.end(xaCommit)
		r.RevealAll()
		if got := r.apply(); got != 0 {
			t.Errorf("%d keys were revealed", got)
		}
	}
	r.heartbeat()
}

// A heartbeat that began before capture received XA COMMIT is not behind that XA COMMIT.
func TestL3_HeartbeatUnderWayDoesNotRevealAnXACommit(t *testing.T) {
	r := setup(t)
	r.xaRows(1)
	r.end(prepare)
	r.heartbeat()
	r.apply()
	r.beat = func() { r.end(xaCommit) }
	r.heartbeat()
	r.RevealAll()
	if got := r.apply(); got != 0 {
		t.Errorf("%d keys were revealed", got)
	}
}

// A new run reads the heartbeats of a crashed run again. A heartbeat that was on its way when the
// new run asked has the number after the row's number.
func TestL6_FenceIsNotPassedByAHeartbeatOfAnEarlierRun(t *testing.T) {
	r := setup(t)
	r.Capture = New(Config{}, Deps{Key: r.deps.Key, Backlog: r.backlog, Beat: r.deps.Beat, Beaten: 57}, Point{Position: position(4)})
	if err := r.Handle(binlog.Rows{Watch: watchState, Tuples: [][]any{{int64(57)}}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Fence(ctx); err == nil {
		t.Error("the fence was passed")
	}
	var number uint64
	r.deps.Beat = func(_ context.Context, n uint64) error { number = n; return nil }
	r.heartbeat()
	if number <= 57 {
		t.Errorf("the first heartbeat has number %d, the row has 57 already: the UPDATE would change nothing", number)
	}
}
