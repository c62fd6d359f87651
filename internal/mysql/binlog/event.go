package binlog

import (
	"time"

	"midstream/internal/mysql/schema"
)

// Watch names a table whose row events are wanted, and what of them.
type Watch struct {
	Table schema.Name // as the server spells it

	// Columns are the 0-based ordinals of the columns to decode, in the order in
	// which they stand in a tuple.
	Columns []int

	// ColumnCount is the number of columns of the table. A row event with another
	// number means that the table was altered: ErrSchemaDrift.
	ColumnCount int

	// After has an UPDATE hand out the row after it only, and nothing where that lacks the
	// columns: with binlog_row_image=MINIMAL it has those only that the statement sets, and
	// the row before has only the primary key.
	After bool
}

// Event is one of the types of this file.
//
// A transaction, or a statement outside of one, is a group of events. Every group
// ends with exactly one Commit, XAPrepared or XAResolved, and only their End is a
// position from which one can read on. Of a group that is passed over there is a Begun and a
// Commit, nothing else.
type Event interface{ event() }

// Kind says what a statement did to the rows.
type Kind int

// The kinds of row events.
const (
	Insert Kind = iota + 1
	Update
	Delete
)

// Begun is the head of a group that has a GTID.
type Begun struct{ GTID GTID }

// Rows are rows of a watched table that one statement touched.
type Rows struct {
	Watch int // index into the reader's watches
	Kind  Kind

	// Tuples holds the watched columns of every row touched: of an UPDATE the values
	// before and, if at least one of them changed, those after. A value is nil
	// (NULL), a Default, or has the Go type that go-mysql decodes the column to,
	// which is what key.Codec.FromBinlog takes. Integers are signed. The receiver may
	// keep them.
	Tuples [][]any

	// MayBeXA says that the group may end as a prepared XA transaction: it began with
	// XA START, or the server does not say (MariaDB).
	MayBeXA bool

	At time.Time // when the statement began, by the server's clock, in seconds
}

// Default stands in a tuple for a value that the binlog leaves out: the row was
// inserted under binlog_row_image MINIMAL or NOBLOB, the statement didn't name the
// column, and the row holds the column's constant default.
type Default struct{}

// Commit ends a group: its rows are committed (or, where the group ends in ROLLBACK,
// touched nonetheless in a table without transactions). A Commit also follows a
// Statement that stands alone.
type Commit struct{ End Position }

// Statement is a statement in the binlog other than those that begin and end a
// transaction: DDL, or DML that was logged as text. NB: End is no place to read on
// from if the statement stands within a transaction; the next Commit's is.
type Statement struct {
	Schema string // the session's default schema; may be empty
	SQL    string
	Thread uint32 // connection id of the session that ran it
	End    Position
}

// XAPrepared ends a group whose rows belong to a prepared XA transaction. They
// become visible with the XAResolved of the same XID, or never.
type XAPrepared struct {
	XID string // X'gtrid',X'bqual',format with lower-case hex digits, as XA COMMIT takes it
	End Position
}

// XAResolved is the end of a prepared XA transaction, in a group of its own.
type XAResolved struct {
	XID       string // as in XAPrepared
	Committed bool   // false: rolled back
	End       Position
}

// Rotated says that reading went on to another file.
type Rotated struct{ To Position }

func (Begun) event()      {}
func (Rows) event()       {}
func (Commit) event()     {}
func (Statement) event()  {}
func (XAPrepared) event() {}
func (XAResolved) event() {}
func (Rotated) event()    {}
