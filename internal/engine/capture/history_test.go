package capture

import (
	"testing"

	"github.com/google/uuid"

	"midstream/internal/mysql/binlog"
)

// TestL5_GTIDsBeforeASafePosition: another run may skip the transactions before the safe position,
// and none after it.
func TestL5_GTIDsBeforeASafePosition(t *testing.T) {
	r := setup(t)
	var before binlog.GTIDs
	before.Add(binlog.GTID{Source: uuid.UUID{1}, Number: 1}, 1)
	r.Capture = New(Config{}, r.deps, Point{Position: position(4), GTIDs: before})
	number := int64(1)
	named := func(event func(binlog.Position) binlog.Event, number int64) {
		if err := r.Handle(binlog.Begun{GTID: binlog.GTID{Source: uuid.UUID{1}, Number: number}}); err != nil {
			t.Fatal(err)
		}
		r.end(event)
	}
	next := func(event func(binlog.Position) binlog.Event) {
		number++
		named(event, number)
	}
	const source = "01000000-0000-0000-0000-000000000000"
	gtidsAre := func(want, why string) {
		t.Helper()
		gtids := r.Safe().GTIDs
		if got := gtids.String(); got != want {
			t.Errorf("GTIDs are %s, want %s: %s", got, want, why)
		}
	}
	next(commit)
	r.heartbeat()
	gtidsAre(source+":1-2", "nothing is to be synced")
	r.rows(1)
	next(commit)
	next(commit)
	r.heartbeat()
	gtidsAre(source+":1-2", "the third is not synced")
	next(commit)
	r.apply()
	gtidsAre(source+":1-4", "a segment starts before the fifth")
	number += 10
	r.heartbeat()
	r.xaRows(2)
	next(prepare)
	next(commit)
	r.heartbeat()
	gtidsAre(source+":1-5", "an XA transaction is prepared behind it")
	next(xaCommit)
	r.heartbeat()
	gtidsAre(source+":1-5", "it is committed and not synced")
	r.apply()
	r.heartbeat()
	gtidsAre(source+":1-5:16-18", "it is synced")
	named(commit, 6)
	r.heartbeat()
	r.apply()
	gtidsAre(source+":1-6:16-18", "one came late")
	r.end(commit)
	gtidsAre("", "one has no GTID")
}

// TestL5_NothingIsSaidOfWhatIsNotKnown: if the GTIDs before the start are not known, the GTIDs
// before any later place are not known either.
func TestL5_NothingIsSaidOfWhatIsNotKnown(t *testing.T) {
	r := setup(t)
	if err := r.Handle(binlog.Begun{GTID: binlog.GTID{Source: uuid.UUID{1}, Number: 7}}); err != nil {
		t.Fatal(err)
	}
	r.end(commit)
	r.heartbeat()
	gtids := r.Safe().GTIDs
	if got := gtids.String(); got != "" {
		t.Errorf("GTIDs are %s", got)
	}
}
