package ledger

import (
	"errors"
	"fmt"
	"time"
)

// Op is a kind of transaction.
type Op string

// The operations. Those of the first group are one statement, which sometimes commits
// by itself and sometimes is a transaction.
const (
	OpInsert      Op = "insert"
	OpInsertMany  Op = "insert many"  // one INSERT of several rows
	OpUpdate      Op = "update"       // plain columns
	OpUpdateWide  Op = "update wide"  // JSON, texts: the other columns
	OpUpdateRange Op = "update range" // several rows by a range of slots
	OpDelete      Op = "delete"
	OpDeleteRange Op = "delete range"
	OpReplace     Op = "replace"        // REPLACE of a present or absent row
	OpReplaceTake Op = "replace taking" // REPLACE with another row's unique value, which deletes that row
	OpUpsert      Op = "upsert"         // INSERT .. ON DUPLICATE KEY UPDATE by the key
	OpUpsertOther Op = "upsert other"   // the same by a unique value: updates a row with another key
	OpMove        Op = "move"           // changes the key of a row
	OpRespell     Op = "respell"        // changes the key to an equal one: 'a' to 'Á'

	OpHandOver    Op = "hand over"     // a unique value, freed in one row and taken in another
	OpHandOverTwo Op = "hand over two" // the same in two transactions
	OpSwap        Op = "swap"          // unique values of two rows, through a third value
	OpReinsert    Op = "reinsert"      // delete and insert of the same key
	OpTouchMany   Op = "touch many"    // one row many times
	OpSavepoint   Op = "savepoint"     // some writes, more writes, ROLLBACK TO
	OpRollback    Op = "rollback"      // of a whole transaction
	OpMixed       Op = "mixed"         // several operations of the first group
	OpXA          Op = "xa"            // OpMixed as XA PREPARE and XA COMMIT
	OpHuge        Op = "huge"          // Options.HugeRows rows in one transaction
	OpHot         Op = "hot"           // several hot rows and one of the writer's own
)

// DefaultMix returns the weights of all operations of an ordinary load. OpHot is not
// weighed, see Options.HotShare; OpHuge and OpXA have no weight unless given one.
func DefaultMix() map[Op]int {
	return map[Op]int{
		OpInsert: 12, OpInsertMany: 4, OpUpdate: 24, OpUpdateWide: 8, OpUpdateRange: 3,
		OpDelete: 9, OpDeleteRange: 1, OpReplace: 5, OpReplaceTake: 2, OpUpsert: 6,
		OpUpsertOther: 2, OpMove: 5, OpRespell: 3, OpHandOver: 4, OpHandOverTwo: 2,
		OpSwap: 3, OpReinsert: 3, OpTouchMany: 2, OpSavepoint: 3, OpRollback: 3, OpMixed: 8,
	}
}

// Options of a ledger.
type Options struct {
	// Number returns the server's number of an error, 0 if it isn't the server's.
	// Required (dbconn.Number).
	Number func(error) uint16

	// Writers is the number of connections that write. Defaults to 4. Without writers
	// (-1) all slots are held.
	Writers int
	// Rate bounds the transactions of all writers together, per second. Defaults to 0,
	// full speed.
	Rate float64
	// Mix weighs the operations. Defaults to DefaultMix.
	Mix map[Op]int
	// HugeRows is the size of an OpHuge transaction, bounded by the rows that one writer
	// owns. Defaults to 100,000.
	HugeRows int

	// HotRows is the number of rows that all writers share. Defaults to 20, at most a
	// quarter of the table; -1: none.
	HotRows int
	// HotShare is the share of row writes that go to hot rows, in percent, up to 90.
	// Defaults to 10; -1: none.
	HotShare int

	// Hold keeps the blocks of these slots away from the writers, for Begin and Do.
	// Defaults to each 16th block. The last block, which is empty, is always held.
	Hold []Slot
	// Spare is the number of slots beyond the seeded ones: room for rows that come.
	// Defaults to an eighth of the seeded rows and a few for each writer.
	Spare int

	// Seed makes the values and the order of operations. Defaults to 1.
	Seed uint64
	// Session holds statements that each writer runs on its new connection, such as
	// "SET SESSION binlog_row_image=MINIMAL".
	Session []string
	// Reconnect is how long a writer tries to get a new connection for a lost one.
	// Defaults to 60 s.
	Reconnect time.Duration
	// Renamed holds new names of the ledger's columns: from the moment that the server
	// says 1054 (unknown column), and in Compare, a column goes by its new name.
	Renamed map[string]string
	// ReadAs holds expressions that Compare reads instead of a column that the schema
	// change gave another text, e.g. "price": "CAST(price AS DECIMAL(10,2))". In it the
	// column goes by the name it has when Compare runs.
	ReadAs map[string]string
}

// WithDefaults returns the options with every default filled in.
func (o Options) WithDefaults() Options {
	switch {
	case o.Writers == 0:
		o.Writers = 4
	case o.Writers < 0:
		o.Writers = 0
	}
	if o.Mix == nil {
		o.Mix = DefaultMix()
	}
	if o.HugeRows == 0 {
		o.HugeRows = 100_000
	}
	o.HotRows = orDefault(o.HotRows, 20)
	o.HotShare = orDefault(o.HotShare, 10)
	if o.Writers == 0 || o.HotShare == 0 {
		o.HotRows, o.HotShare = 0, 0
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Reconnect == 0 {
		o.Reconnect = time.Minute
	}
	return o
}

// orDefault gives the default for 0, and 0 for less.
func orDefault(n, def int) int {
	switch {
	case n == 0:
		return def
	case n < 0:
		return 0
	}
	return n
}

// Validate says all that is wrong with the options.
func (o Options) Validate() error {
	var problems []error
	if o.Number == nil {
		problems = append(problems, errors.New("ledger options: Number is required"))
	}
	if o.HotShare > 90 {
		problems = append(problems, fmt.Errorf("ledger options: HotShare is %d, at most 90", o.HotShare))
	}
	weights := 0
	for op, weight := range o.Mix {
		weights += weight
		if _, ok := operations[op]; !ok || weight < 0 {
			problems = append(problems, fmt.Errorf("ledger options: weight %d of operation %q", weight, op))
		}
	}
	if weights == 0 {
		problems = append(problems, errors.New("ledger options: Mix has no weight"))
	}
	return errors.Join(problems...)
}
