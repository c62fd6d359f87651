package plan

import (
	"time"

	"midstream/internal/mysql/schema"
)

// Cost is what one way of changing a table costs.
type Cost struct {
	Setup time.Duration // however many rows
	Rows  float64       // rows in a second
	// For each row, in bytes: in the leaf pages of the new files, in the redo log, and in the
	// binlog.
	Bytes, Redo, Binlog float64
}

// Pace is how fast the server works, and how much its application writes.
type Pace struct {
	Native Cost // of a build or copy
	// Rest is the cost of the second statement, if there are two.
	Rest   Cost
	Shadow Cost // of a row copy
	// Indexes and Verify are the rows in a second of the build of deferred indexes and of verify.
	Indexes, Verify float64
	// The application's load: rows that it writes to the table, and bytes in the redo log and the
	// binlog, in a second. Writes is negative if it is not known.
	Writes, Redo, Binlog float64
	// Curve is how fast rows are copied at which cost for the application, if that was measured.
	Curve Curve
	// Measured means that the pace was measured by copying rows of this table; else it is assumed.
	Measured bool
}

// The assumed figures if nothing was measured, in bytes of rows and indexes in a second. They are
// on the low side for a machine of two cores that syncs every commit to its disk (bench/results).
const (
	assumedRebuild = 30e6
	assumedCopy    = 15e6
	assumedShadow  = 20e6
	assumedIndex   = 300_000 // rows
	// verifyShare and verifyShareByLookups are the time of verify as a share of the row copy's
	// time: servers before 8.0.20 have no hash join.
	verifyShare          = 0.24
	verifyShareByLookups = 0.45
)

// setup is the time that any statement takes to create, sync and swap its files.
const setup = 50 * time.Millisecond

// AssumedPace returns the server's probable pace, as far as the facts show.
func AssumedPace(facts *Facts, table *schema.Table) Pace {
	row := rowBytes(table)
	p := Pace{
		Shadow:  Cost{Setup: time.Second, Rows: assumedShadow / row, Bytes: row * 7 / 8, Redo: 1.5 * row, Binlog: dataBytes(table)},
		Indexes: 2 * assumedIndex,
		Writes:  facts.Writes,
	}
	p.Verify = p.Shadow.Rows / p.verifyShare(facts)
	if facts.Native != nil {
		p.Native = assumedCost(facts.Native, row)
	}
	if facts.Split != nil {
		p.Rest = assumedCost(facts.Split.Answer, row)
	}
	return p
}

// assumedCost is the cost of the server's own method, for rows of so many bytes.
func assumedCost(a *Answer, row float64) Cost {
	c := Cost{Setup: setup, Bytes: row * 7 / 8}
	switch {
	case a.Method == MethodCopy:
		c.Rows, c.Redo = assumedCopy/row, 1.5*row
	case a.Effect == Rebuild:
		c.Rows = assumedRebuild / row
	case a.Effect == Index:
		c.Rows, c.Bytes = assumedIndex, indexBytes
	}
	return c
}

// indexBytes is about what a row takes in a secondary index.
const indexBytes = 24

func (p *Pace) verifyShare(facts *Facts) float64 {
	if facts.Version.AtLeast(8, 0, 20) && !facts.Version.MariaDB {
		return verifyShare
	}
	return verifyShareByLookups
}

// rowBytes is what a row takes with its index entries.
func rowBytes(t *schema.Table) float64 {
	return dataBytes(t) + float64(t.IndexBytes)/float64(max(1, t.Rows))
}

// HeadBytes is what InnoDB puts before the columns of a row: header, transaction and roll pointer.
const HeadBytes = 18

// OldStatistics reports whether the server has counted a table's rows, and not yet its pages, as after a load.
func OldStatistics(t *schema.Table) bool { return t.Rows > 1000 && t.DataBytes/t.Rows < HeadBytes }

// dataBytes is what a row takes by itself, in bytes. The server counts rows at once, but counts
// pages only some seconds after a tenth of the rows has changed. So right after a bulk load it may
// show less than a row can take: then each column counts as 8 bytes.
func dataBytes(t *schema.Table) float64 {
	if told := float64(t.DataBytes) / float64(max(1, t.Rows)); told >= HeadBytes {
		return told
	}
	return HeadBytes + 8*float64(len(t.Columns))
}

// Shared is the pace of a run whose row copy may work for this share of its time. part must be
// above 0: at 0 the row copy waits until an operator sets another share.
func (p Pace) Shared(part float64) Pace {
	if part > 0 {
		p.Shadow.Rows *= part
	}
	return p
}

// At is the pace of a row copy at a point of the curve. The comparison is as much faster or slower.
func (p Pace) At(point Point) Pace {
	if p.Shadow.Rows > 0 {
		p.Verify *= point.Rows / p.Shadow.Rows
	}
	p.Shadow.Rows = point.Rows
	return p
}

// AfterCopy returns what comes after the copy of so many rows: the time to compare a row, as a multiple
// of copying it, and the time to build deferred indexes.
func (p Pace) AfterCopy(rows int64, verifies, deferred bool) (verify float64, index time.Duration) {
	if verifies && p.Verify > 0 {
		verify = p.Shadow.Rows / p.Verify
	}
	if deferred {
		index = lasting(float64(rows), p.Indexes)
	}
	return verify, index
}

// Beside is the cost of the change alone, if the application wrote so many bytes of redo log in a
// second during the measurement.
func (c Cost) Beside(redo float64) Cost {
	if c.Rows > 0 {
		c.Redo = max(0, c.Redo-redo/c.Rows)
	}
	return c
}

// takes is how long so many rows take.
func (c Cost) takes(rows int64) time.Duration {
	return c.Setup + lasting(float64(rows), c.Rows)
}

// lasting is the time of an amount at a rate; 0 if the rate is 0.
func lasting(amount, rate float64) time.Duration {
	if rate <= 0 {
		return 0
	}
	return time.Duration(amount / rate * float64(time.Second))
}
