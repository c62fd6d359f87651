package binlog

import (
	"time"

	"midstream/internal/mysql/schema"
)

// Watch names a table and the parts of its row events to hand out.
type Watch struct {
	Table schema.Name // as the server spells it

	// Columns are the 0-based ordinals of the columns to decode, in the order of a tuple.
	Columns []int

	// ColumnCount is the number of columns of the table. A row event with another
	// number means that the table was altered: ErrSchemaDrift.
	ColumnCount int

	// Earlier are the columns by other numbers of columns, which the table had before columns were added.
	Earlier []Layout

	// After makes an UPDATE hand out only the row after it, and nothing if that row lacks the
	// columns. With binlog_row_image=MINIMAL that row has only the columns that the statement sets,
	// and the row before has only the primary key.
	After bool

	// Lax hands out an event whose rows lack watched columns too: with no tuples of these rows. Otherwise such an event
	// ends the stream (ErrIncomplete).
	Lax bool
}

// Layout has the ordinals of the columns to decode in a table of so many columns.
type Layout struct {
	Columns     []int
	ColumnCount int
}

// columns are the ordinals in a table of so many columns.
func (w Watch) columns(count uint64) (columns []int, known bool) {
	for _, l := range append([]Layout{{w.Columns, w.ColumnCount}}, w.Earlier...) {
		if uint64(l.ColumnCount) == count {
			return l.Columns, true
		}
	}
	return nil, false
}

// Event is one of the types of this file.
//
// A transaction, or a statement outside of one, is a group of events. Every group ends with exactly
// one Commit, XAPrepared or XAResolved. Only their End is a position to read on from. A group that
// is passed over has only a Begun and a Commit.
type Event interface{ event() }

// Kind is the effect of a statement on the rows.
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

	// Tuples holds the watched columns of every touched row. An UPDATE has the values before it
	// and, if at least one of them changed, the values after it. A value is nil (NULL), a Default,
	// or has the Go type that go-mysql decodes the column to. key.Codec.FromBinlog takes these
	// types. Integers are signed. The receiver may keep them.
	Tuples [][]any

	// After lists the indexes of those tuples that are the values after an UPDATE. The values before
	// it are the tuple before each of them. It is nil if no UPDATE changed a watched column.
	After []int

	// MayBeXA means that the group may end as a prepared XA transaction: it began with XA START, or
	// the server does not report that (MariaDB).
	MayBeXA bool

	// Unchecked means that the session had foreign_key_checks = 0 (NO_FOREIGN_KEY_CHECKS_F, in MySQL's rows_event.h and MariaDB's
	// log_event.h).
	Unchecked bool

	// At is when the statement began, by the server's clock, in seconds.
	At time.Time
}

// Default in a tuple is a value that the binlog leaves out. The row was inserted under
// binlog_row_image MINIMAL or NOBLOB, and the statement didn't name the column. The row holds the
// column's constant default.
type Default struct{}

// Absent marks the value for package key, which tests of this package use.
func (Default) Absent() {}

// Commit ends a group: its rows are committed. If the group ends in ROLLBACK, its rows may still be
// touched, in a table without transactions. A Commit also follows a Statement outside of a
// transaction.
type Commit struct{ End Position }

// Statement is a statement in the binlog that neither begins nor ends a transaction: DDL, or DML
// that was logged as text. NB: if the statement is within a transaction, don't read on from its
// End, but from the next Commit's.
type Statement struct {
	Schema string // the default schema, if any
	SQL    string
	Thread uint32 // the session's connection id
	End    Position
}

// XAPrepared ends a group of rows of a prepared XA transaction. They become visible with the
// XAResolved of the same XID, or never.
type XAPrepared struct {
	// XID is X'gtrid',X'bqual',format with lower-case hex digits, as XA COMMIT takes it.
	XID string
	End Position
}

// XAResolved is the end of a prepared XA transaction, in a group of its own.
type XAResolved struct {
	XID       string // as in XAPrepared
	Committed bool   // false: rolled back
	End       Position
}

// Rotated means that reading continues in another file.
type Rotated struct{ To Position }

func (Begun) event()      {}
func (Rows) event()       {}
func (Commit) event()     {}
func (Statement) event()  {}
func (XAPrepared) event() {}
func (XAResolved) event() {}
func (Rotated) event()    {}
