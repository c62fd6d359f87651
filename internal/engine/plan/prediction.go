package plan

import (
	"fmt"
	"time"
)

// Prediction is what a change will probably cost. Bytes are of the server as a whole where that is
// said, else those of the change alone.
type Prediction struct {
	// Elapsed is what is expected, between Least and Most.
	Elapsed, Least, Most time.Duration
	Rows                 int64   // that are written, as the server estimates the table
	RowsPerSecond        float64 // 0 where no rows are written
	Disk                 int64   // bytes at the peak, beside what is there; without the binlog
	Redo                 int64   // bytes of redo log meanwhile, the application's included
	Binlog               int64   // bytes of binlog, without the application's
	// Locked is the longest time for which nobody can write, or read where the lock is exclusive:
	// what is bounded, and not what is expected.
	Locked time.Duration
	// ReplicaLag is for how long replicas fall behind; 0 where there is none or they don't.
	ReplicaLag time.Duration
	Locks      []MetadataLock
	// Measured says that rows of the table were copied to know it (--calibrate).
	Measured bool
}

// MetadataLock is a lock of the table that the change needs.
type MetadataLock struct {
	Kind  string // as performance_schema.metadata_locks spells it
	Count int    // how often, if nobody is in the way
	For   string // what it is for, and how long it is held
}

// How far the elapsed time may be from what is expected, as factors.
const (
	leastMeasured, mostMeasured = 0.8, 1.25
	leastAssumed, mostAssumed   = 0.4, 3
)

// Bounds are the budgets of a lock.
type Bounds struct{ Wait, Work time.Duration }

// Predict says what the plan will cost at a pace, where a lock is bounded so, and secondary indexes
// of a shadow are built after its row copy if deferred says so.
func (p *Plan) Predict(pace Pace, bounds Bounds, deferred bool) Prediction {
	d := Prediction{Measured: pace.Measured}
	switch c := p.Choice; {
	case c.Method == MethodNone:
		return d
	case c.Method == MethodShadow:
		d.shadow(p, pace, bounds, deferred)
	case c.Builds || c.Method == MethodCopy:
		d.native(p, pace, bounds)
	default:
		closed := p.Native.closed(p.Source)
		d.Elapsed, d.Most, d.Locked = max(setup, closed), bounds.Wait+max(setup, closed), bounds.Wait+closed
		d.Locks = []MetadataLock{{"EXCLUSIVE", 1, closedText("the change of the dictionary: some milliseconds", closed)}}
		return d
	}
	least, most := leastAssumed, float64(mostAssumed)
	if pace.Measured {
		least, most = leastMeasured, mostMeasured
	}
	d.Least, d.Most = scaled(d.Elapsed, least), scaled(d.Elapsed, most)
	if !p.Choice.BlocksWrites() { // else the application writes nothing to the table meanwhile
		d.Redo += int64(pace.Redo * d.Elapsed.Seconds())
	}
	return d
}

// While the server builds an index it notes what the application writes, and puts it in at the end, entry by
// entry, into pages that are full. So much for a row (bench/results, 9.7.4: 1,000,000 rows, 1,400 written a second).
const (
	notedTime = 200 * time.Microsecond
	notedRedo = 2 << 10
	notedDisk = 4 << 10
)

// beyondMemory is by how much a copy of rows is slower where the old table and the new one don't fit the buffer pool
// together, as they do in the sample (bench/results, 9.7.4: 10,000,000 rows, 2 GiB: 1.16 to 1.35).
const beyondMemory = 1.25

// copying is the time of a copy row by row.
func (p *Plan) copying(takes time.Duration) time.Duration {
	if size := p.Source.DataBytes + p.Source.IndexBytes; p.Server.BufferPool > 0 && 2*size > p.Server.BufferPool {
		return scaled(takes, beyondMemory)
	}
	return takes
}

func (d *Prediction) native(p *Plan, pace Pace, bounds Bounds) {
	cost, requests, answer := pace.Native, 2, p.Native
	if p.Choice.Split != nil {
		cost, requests, answer = pace.Rest, 3, p.Choice.Split.Answer
	}
	d.Rows, d.RowsPerSecond = p.Source.Rows, cost.Rows
	d.Elapsed = cost.takes(d.Rows)
	rows := float64(d.Rows)
	d.Disk, d.Redo = fileBytes(rows*cost.Bytes, p.Choice.Method != MethodCopy), int64(rows*cost.Redo)
	if p.Choice.Method == MethodCopy {
		d.Elapsed = p.copying(d.Elapsed)
	}
	if pace.Writes > 0 {
		if answer != nil && answer.Effect == Index && !p.Choice.BlocksWrites() {
			noted := pace.Writes * d.Elapsed.Seconds()
			d.Elapsed += scaled(notedTime, noted)
			d.Redo, d.Disk = d.Redo+int64(notedRedo*noted), d.Disk+int64(notedDisk*noted)
		}
		d.Elapsed += bounds.Wait / 2 // for which who holds a lock is watched: mostly somebody does
	}
	closed := answer.closed(p.Source)
	d.Locked = bounds.Wait + closed
	d.Locks = []MetadataLock{{"EXCLUSIVE", requests, closedText("the beginning and the end: some milliseconds each", closed)}}
	if p.Choice.BlocksWrites() {
		d.Locked += d.Elapsed
		d.Locks = []MetadataLock{
			{"SHARED_NO_WRITE", 1, fmt.Sprintf("writes wait until it has ended: about %s", round(d.Elapsed))},
			{"EXCLUSIVE", 1, "the end: some milliseconds"},
		}
	}
	if p.Server.Replicas > 0 {
		d.ReplicaLag = d.Elapsed
	}
}

func (d *Prediction) shadow(p *Plan, pace Pace, bounds Bounds, deferred bool) {
	d.Rows, d.RowsPerSecond = p.Source.Rows, pace.Shadow.Rows
	rows := float64(d.Rows)
	d.Elapsed = pace.Shadow.takes(d.Rows) + lasting(rows, pace.Verify)
	if deferred {
		d.Elapsed += lasting(rows, pace.Indexes)
	}
	d.Elapsed = p.copying(d.Elapsed)
	d.Disk, d.Redo, d.Binlog = fileBytes(rows*pace.Shadow.Bytes, deferred), int64(rows*pace.Shadow.Redo), int64(rows*pace.Shadow.Binlog)
	after := afterSwap(len(p.Foreign), len(p.Source.Triggers))
	d.Locked = bounds.Wait + bounds.Work + after
	d.Locks = []MetadataLock{
		{"SHARED_NO_READ_WRITE", 1, "the last changes: some ten milliseconds, and at most " + bounds.Work.String()},
		{"EXCLUSIVE", 1, p.swapText(after)},
	}
}

// fileBytes is the size of a file that has so much in its leaf pages: InnoDB keeps an eighth of each
// segment free, and lets the file grow by extents, of which some are not used yet: more of them where
// indexes are built in it, by several threads.
func fileBytes(leaves float64, built bool) int64 {
	const extent = 1 << 20
	free := min(leaves/8, 6*extent)
	if built {
		free = min(leaves/3, 8*extent)
	}
	return int64(leaves*8/7 + free)
}

func scaled(d time.Duration, factor float64) time.Duration {
	return time.Duration(float64(d) * factor)
}
