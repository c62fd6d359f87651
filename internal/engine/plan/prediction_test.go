package plan_test

import (
	"testing"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// TestPredict adds up a pace's costs of each row.
func TestPredict(t *testing.T) {
	pace := plan.Pace{
		Native:  plan.Cost{Setup: time.Second, Rows: 100_000, Bytes: 100, Redo: 1},
		Rest:    plan.Cost{Rows: 500_000, Bytes: 10},
		Shadow:  plan.Cost{Setup: 2 * time.Second, Rows: 50_000, Bytes: 70, Redo: 200, Binlog: 90},
		Indexes: 200_000, Verify: 250_000, Redo: 1000, Measured: true,
	}
	bounds := plan.Bounds{Wait: 250 * time.Millisecond, Work: 100 * time.Millisecond}
	for name, c := range map[string]struct {
		choice   plan.Choice
		replicas int
		deferred bool
		want     plan.Prediction // without its locks
		locks    int
	}{
		"none": {choice: plan.Choice{Method: plan.MethodNone}},
		"instant": {choice: plan.Choice{Method: plan.MethodInstant}, locks: 1,
			want: plan.Prediction{Elapsed: 50 * time.Millisecond, Most: 300 * time.Millisecond, Locked: bounds.Wait}},
		"inplace": {choice: plan.Choice{Method: plan.MethodInplace, Lock: "NONE", Builds: true}, replicas: 1, locks: 1,
			want: plan.Prediction{Elapsed: 11 * time.Second, Rows: 1e6, RowsPerSecond: 100_000,
				Disk: 114_285_714 + 8<<20, Redo: 1e6 + 11_000,
				Locked: bounds.Wait, ReplicaLag: 11 * time.Second}},
		"in two": {choice: plan.Choice{Method: plan.MethodInplace, Lock: "NONE", Builds: true, Split: &plan.Split{}}, locks: 1,
			want: plan.Prediction{Elapsed: 2 * time.Second, Rows: 1e6, RowsPerSecond: 500_000, Disk: 14_761_904,
				Redo: 2000, Locked: bounds.Wait}},
		"copy": {choice: plan.Choice{Method: plan.MethodCopy}, locks: 2,
			want: plan.Prediction{Elapsed: 11 * time.Second, Rows: 1e6, RowsPerSecond: 100_000, Disk: 114_285_714 + 6291456, Redo: 1e6,
				Locked: 11*time.Second + bounds.Wait}},
		"shadow": {choice: plan.Choice{Method: plan.MethodShadow}, replicas: 1, deferred: true, locks: 2,
			want: plan.Prediction{Elapsed: 31 * time.Second, Rows: 1e6, RowsPerSecond: 50_000,
				Disk: 80_000_000 + 8<<20, Redo: 200e6 + 31_000, Binlog: 90e6,
				Locked: bounds.Wait + bounds.Work}},
	} {
		p := &plan.Plan{Choice: c.choice, Source: &schema.Table{Rows: 1e6}, Server: plan.Server{Replicas: c.replicas}}
		got := p.Predict(pace, bounds, c.deferred)
		if len(got.Locks) != c.locks {
			t.Errorf("%s: locks %+v", name, got.Locks)
		}
		if c.want.Rows > 0 && (got.Least != c.want.Elapsed*8/10 || got.Most != c.want.Elapsed*5/4) {
			t.Errorf("%s: between %s and %s", name, got.Least, got.Most)
		}
		if c.want.Rows > 0 {
			c.want.Least, c.want.Most = got.Least, got.Most
		}
		got.Locks, c.want.Measured = nil, true
		if got.Elapsed != c.want.Elapsed || got.Disk != c.want.Disk || got.Redo != c.want.Redo ||
			got.Binlog != c.want.Binlog || got.Locked != c.want.Locked ||
			got.ReplicaLag != c.want.ReplicaLag || got.RowsPerSecond != c.want.RowsPerSecond || got.Least != c.want.Least ||
			got.Most != c.want.Most {
			t.Errorf("%s: %+v\nwant %+v", name, got, c.want)
		}
	}
}

// What the application writes while an index is built costs time, redo log and space at the end of
// the build. A copy that doesn't fit the buffer pool is slower than the sample. While no session
// can write, the application's redo log is not added.
func TestPredictBesideWrites(t *testing.T) {
	pace := plan.Pace{
		Native: plan.Cost{Rows: 100_000, Bytes: 10, Redo: 1},
		Shadow: plan.Cost{Rows: 100_000},
		Verify: 1e9,
		Writes: 1000,
		Redo:   1e6,
	}
	bounds := plan.Bounds{Wait: 200 * time.Millisecond, Work: 100 * time.Millisecond}
	p := &plan.Plan{Native: &plan.Answer{Effect: plan.Index}, Source: &schema.Table{Rows: 1e6, DataBytes: 1 << 30},
		Choice: plan.Choice{Method: plan.MethodInplace, Lock: "NONE", Builds: true}, Server: plan.Server{BufferPool: 4 << 30}}
	index := p.Predict(pace, bounds, false)
	if want := 12100 * time.Millisecond; index.Elapsed != want || index.Redo != 1e6+10_000*2048+int64(1e6*want.Seconds()) {
		t.Errorf("an index: %+v", index)
	}
	p.Native.Effect = plan.Rebuild
	if rebuilt := p.Predict(pace, bounds, false); rebuilt.Elapsed != 10100*time.Millisecond || rebuilt.Redo != 1e6+10_100_000 {
		t.Errorf("a rebuild: %+v", rebuilt)
	}
	for pool, want := range map[int64]time.Duration{4 << 30: 10 * time.Second, 1 << 30: 12500 * time.Millisecond} {
		p.Server.BufferPool = pool
		p.Choice = plan.Choice{Method: plan.MethodCopy}
		if copied := p.Predict(pace, bounds, false); copied.Elapsed != want+100*time.Millisecond || copied.Redo != 1e6 {
			t.Errorf("a copy, with a pool of %d: %+v", pool, copied)
		}
		p.Choice = plan.Choice{Method: plan.MethodShadow}
		if shadow := p.Predict(pace, bounds, false); shadow.Elapsed.Round(time.Second/2) != want {
			t.Errorf("a shadow, with a pool of %d: %+v", pool, shadow)
		}
	}
	p.Server.BufferPool = 1 << 30
	if slow := p.Predict(pace.Shared(.1), bounds, false); slow.Elapsed.Round(time.Second) != 125*time.Second {
		t.Errorf("a shadow, whose row copy may work a tenth of the time: %+v", slow)
	}
	if got := (plan.Cost{Rows: 1000, Redo: 5}).Beside(3000).Redo; got != 2 {
		t.Errorf("%g bytes of redo log for a row", got)
	}
}

// TestPredictRightAfterABulkLoad: the server counts rows at once, and their pages some seconds
// later. Until then Predict assumes the smallest size of such rows.
func TestPredictRightAfterABulkLoad(t *testing.T) {
	facts := &plan.Facts{Native: &plan.Answer{Method: plan.MethodCopy}}
	pace := func(dataBytes int64) plan.Pace {
		return plan.AssumedPace(facts, &schema.Table{Rows: 200_000, DataBytes: dataBytes, Columns: make([]schema.Column, 4)})
	}
	if p := pace(16 << 10); p.Native.Rows > 400_000 || p.Shadow.Rows > 500_000 || p.Shadow.Binlog < 40 {
		t.Errorf("of the first page alone: %+v", p)
	}
	if p := pace(200_000 * 100); p.Native.Rows != 150_000 || p.Shadow.Binlog != 100 {
		t.Errorf("of 100 bytes a row: %+v", p)
	}
}
