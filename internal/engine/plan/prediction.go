package plan

import (
	"fmt"
	"time"
)

// Prediction is the probable cost of a change. Bytes are the change's own, unless a field counts
// the application's too.
type Prediction struct {
	// Elapsed is the expected time, between Least and Most.
	Elapsed, Least, Most time.Duration
	// WithWindow is Elapsed with the waits for the copy window and the load of each hour, for a run
	// that begins now; 0 without a window and a profile.
	WithWindow time.Duration
	// Rows is the number of rows that are written, by the server's estimate of the table.
	Rows          int64
	RowsPerSecond float64 // 0 if no rows are written
	// Disk is the peak number of bytes in addition to what exists, without the binlog.
	Disk int64
	// Redo is bytes of redo log during the change, the application's included.
	Redo   int64
	Binlog int64 // bytes, without the application's
	// Locked is the longest time for which no session can write, or read if the lock is exclusive.
	// It is a bound, not an expectation.
	Locked time.Duration
	// ReplicaLag is for how long replicas fall behind; 0 if there are none or they don't.
	ReplicaLag time.Duration
	Locks      []MetadataLock
	// Offers are what the change costs by several limits, and Application is what was measured of the
	// application. Both are empty unless a calibration has seen the application at work.
	Offers      []Offer
	Application Curve
	// Measured means that rows of the table were copied to measure the pace (--calibrate).
	Measured bool
}

// MetadataLock is a lock of the table that the change needs.
type MetadataLock struct {
	// Kind is spelled as in performance_schema.metadata_locks.
	Kind  string
	Count int    // how often, if no session blocks
	For   string // its purpose, and how long held
}

// The factors by which the elapsed time may differ from what is expected.
const (
	leastMeasured, mostMeasured = 0.8, 1.25
	leastAssumed, mostAssumed   = 0.4, 3
)

// Bounds are the budgets of a lock.
type Bounds struct{ Wait, Work time.Duration }

// Predict returns what the plan will probably cost, at a pace and within the bounds of the locks.
// deferred means that the secondary indexes of a shadow are built after its row copy.
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
	if !p.Choice.BlocksWrites() { // else the application's writes wait
		d.Redo += int64(pace.Redo * d.Elapsed.Seconds())
	}
	return d
}

// While the server builds an index, it notes what the application writes. At the end it inserts
// these notes, entry by entry, into pages that are full. These are the costs for each row
// (bench/results, 9.7.4: 1,000,000 rows, 1,400 written in a second).
const (
	notedTime = 200 * time.Microsecond
	notedRedo = 2 << 10
	notedDisk = 4 << 10
)

// beyondMemory is the factor by which a copy of rows is slower if the old table and the new table
// together don't fit the buffer pool, unlike in the sample (bench/results, 9.7.4: 10,000,000 rows,
// 2 GiB: 1.16 to 1.35).
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
		// During this wait the server usually shows a session that holds a lock.
		d.Elapsed += bounds.Wait / 2
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
	after := afterSwap(len(Carried(p)), len(p.Source.Triggers))
	d.Locked = bounds.Wait + bounds.Work + after
	d.Locks = []MetadataLock{
		{"SHARED_NO_READ_WRITE", 1, "the last changes: some ten milliseconds, and at most " + bounds.Work.String()},
		{"EXCLUSIVE", 1, p.swapText(after)},
	}
}

// Comparing predicts how long the comparison of all rows takes.
func Comparing(p *Plan) (takes, least, most time.Duration) {
	takes = lasting(float64(p.Source.Rows), p.Pace.Verify)
	if p.Pace.Measured {
		return takes, scaled(takes, leastMeasured), scaled(takes, mostMeasured)
	}
	return takes, scaled(takes, leastAssumed), scaled(takes, mostAssumed)
}

// fileBytes is the size of a file that has so much in its leaf pages. InnoDB keeps an eighth of
// each segment free, and lets the file grow by extents. Some extents are not used yet, and more of
// them if several threads build indexes in the file.
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
