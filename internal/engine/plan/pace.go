package plan

import (
	"time"

	"midstream/internal/mysql/schema"
)

// Cost is what one way of changing a table costs.
type Cost struct {
	Setup time.Duration // whatever the rows
	Rows  float64       // that are done in a second
	// Of every row, in bytes: in the leaf pages of the new files, in the redo log, and in the binlog.
	Bytes, Redo, Binlog float64
}

// Pace is what the server and its application do.
type Pace struct {
	Native Cost // of the server's own method, where it builds or copies
	Rest   Cost // of the second statement, where it is in two
	Shadow Cost // of a row copy
	// Indexes and Verify are the rows in a second of the build of deferred indexes and of verify.
	Indexes, Verify float64
	// The application's: rows that it writes to the table, and bytes to the redo log and the
	// binlog, in a second. Writes is negative where it is not known.
	Writes, Redo, Binlog float64
	// Measured says that rows of this table were copied to know it; else it is assumed.
	Measured bool
}

// What is assumed where nothing was measured: on the low side for a machine of two cores with every
// commit synced to its disk (bench/results), as bytes of rows and indexes in a second.
const (
	assumedRebuild = 30e6
	assumedCopy    = 15e6
	assumedShadow  = 20e6
	assumedIndex   = 300_000 // rows
	// verifyShare and verifyShareByLookups are the time of verify as a part of the row copy's: servers
	// before 8.0.20 have no hash join.
	verifyShare          = 0.24
	verifyShareByLookups = 0.45
)

// setup is what any statement takes that makes files: they are created, synced and swapped.
const setup = 50 * time.Millisecond

// AssumedPace returns what the server probably does, as far as its facts tell.
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

// assumedCost is that of the server's own way, for rows of so many bytes.
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

// indexBytes is what a row takes in a secondary index, about.
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

// headBytes is what InnoDB puts before the columns of a row: header, transaction and roll pointer.
const headBytes = 18

// dataBytes is what a row takes by itself. The server counts rows at once, and pages some seconds
// after a tenth of the rows has changed: where it tells less than a row can take, right after a
// bulk load, a column is taken for 8 bytes.
func dataBytes(t *schema.Table) float64 {
	if told := float64(t.DataBytes) / float64(max(1, t.Rows)); told >= headBytes {
		return told
	}
	return headBytes + 8*float64(len(t.Columns))
}

// Shared is the pace of a run whose row copy may work for a part of its time, of more than 0: at 0
// it stands until somebody says another one.
func (p Pace) Shared(part float64) Pace {
	if part > 0 {
		p.Shadow.Rows *= part
	}
	return p
}

// Beside is the cost of the change alone, where the application has written so many bytes of redo log in a
// second meanwhile.
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

// lasting is the time of an amount at a rate; none where there is no rate.
func lasting(amount, rate float64) time.Duration {
	if rate <= 0 {
		return 0
	}
	return time.Duration(amount / rate * float64(time.Second))
}
