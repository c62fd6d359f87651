package checkpoint

import (
	"cmp"
	"time"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/schema"
)

// These are the versions of the formats below. Version goes up by one if a program that does not
// know a change would do the wrong thing, and stays if such a program may ignore the change. A
// program refuses a newer version and leaves it unchanged (ErrNewer). It begins again if the
// version is older than Oldest (ErrUnreadable). The table keeps its columns, and the checkpoint its
// Version, so that an earlier program can recognize a later one's.
const (
	Version = 4
	Oldest  = 2
	// Undoable is the version of an undo, and of a run that keeps what one needs.
	Undoable = 3
	// Plain is the version of a run that keeps nothing for an undo, is none, and leaves the new table in the source's place.
	Plain = 2
)

// Start records what a run began with. A run that resumes from its checkpoint must begin with the
// same.
type Start struct {
	// Purpose is the run's purpose, as in package plan; "" for a run that alters the table.
	Purpose string `json:",omitempty"`
	// Source is the source's definition: SHOW CREATE TABLE without the counter.
	Source string
	Alter  string            // the clauses
	Key    string            // name of the followed key
	Map    map[string]string // the operator's
	Filter string            `json:",omitempty"` // the condition of the rows that are kept; "" for all
	Set    map[string]string `json:",omitempty"` // expressions for columns of the shadow
	// Into is the name that the new table gets in the swap; none if it is the source's. View means that this is then a view's.
	Into schema.Name `json:",omitzero"`
	View bool        `json:",omitempty"`
	// Together are the tables that swap together with this one, in the order of their names; nil for none.
	Together []string `json:",omitempty"`
	Zone     string   // of the server
	// Deciding are the settings of the server, by their names, that decided which rows meet the filter; nil without one.
	Deciding map[string]string `json:",omitempty"`
	// ServerTime and UTC are the time when the run began, by the server's clock, in its zone and in
	// UTC. New columns with DEFAULT CURRENT_TIMESTAMP get it.
	ServerTime, UTC string
	// Began is the time when the run began, by the client's clock. --finish-within counts from it.
	Began time.Time `json:",omitzero"`

	Shadow *schema.Table // as made, with all indexes
	// Unmarked means that the shadow was made without a mark.
	Unmarked bool            `json:",omitempty"`
	Comment  string          // the table's final comment
	Was      string          `json:",omitempty"` // the source's comment
	Old      string          // the source's name in the swap
	Kept     string          `json:",omitempty"` // its final name, if another
	Columns  []schema.Column // of the source
	// Capture is the way of capturing changes, as in package plan; "" for the binlog. Sight is what
	// capture by triggers relies on, in package trigger's words.
	Capture string `json:",omitempty"`
	Sight   string `json:",omitempty"`
	// Foreign are the constraints that go over in the swap.
	Foreign []schema.ForeignKey `json:",omitempty"`
	Dropped []schema.ForeignKey `json:",omitempty"` // that the ALTER drops
	// Acting are the names of foreign keys that are on the shadow from the beginning. Keyed are the
	// names of foreign keys that have columns of the key.
	Acting, Keyed []string `json:",omitempty"`
	// Triggers are the source's triggers. They move to the new table too.
	Triggers []schema.Trigger `json:",omitempty"`
	// Undo is how the change may be taken back once the run has swapped; nil if it may not.
	Undo *Undo `json:",omitempty"`
}

// Checkpoint is how far a run has come.
type Checkpoint struct {
	Version int
	Phase   string
	Taken   time.Time // by the client's clock, for people
	Rows    int64     // copied
	// Changed is what a row change has done; nil for other runs.
	Changed *Changed `json:",omitempty"`
	// Unmarked means that the shadow may already have its final comment, and no mark.
	Unmarked bool
	// Shadow is the shadow's name; "" for its default name.
	Shadow string `json:",omitempty"`
	// Adopted means that the shadow is the old table of an earlier run: an undo works on it, and no run drops it.
	Adopted bool `json:",omitempty"`
	// Parked means that this undo goes back without some rows: their table has them (--park).
	Parked bool `json:",omitempty"`
	// Values is the table with the values that columns of the old table had in these rows; "" for none.
	Values string `json:",omitempty"`
	// Again are the flags with which the same undo is begun again if this one is killed, such as --park; nil: not known.
	Again []string
	// Copied are the ranges with rows that are committed in the shadow.
	Copied []Range
	// Position is the place in the binlog from which capture must continue. Every change before it
	// is in the shadow, or is ahead of the row copy.
	Position string
	// Born is when the file of Position was created, by its server's clock; 0 if that is not known.
	Born uint32 `json:",omitempty"`
	// GTIDs are the transactions before Position; "" if some have none.
	GTIDs string
	// Executed are the GTIDs of all transactions that the server had committed, with the
	// transactions of the rows in the shadow; "" if it has no GTIDs.
	Executed string
	// ServerUUID names the server that the run was on. Position is in that server's binlog, unless
	// CaptureUUID names a replica. CaptureName is that replica's address, for people. CaptureStart
	// is like ServerStart.
	ServerUUID   string
	CaptureUUID  string `json:",omitempty"`
	CaptureName  string `json:",omitempty"`
	CaptureStart int64  `json:",omitempty"`
	// ServerStart is when that server was started, by its own clock, in seconds of Unix time.
	ServerStart int64
	// Distrusted means that the capture may have missed changes: the run must compare all rows, and
	// sync rows that differ again.
	Distrusted bool
}

// CaptureServer names the server whose binlog has Position.
func (c Checkpoint) CaptureServer() string { return cmp.Or(c.CaptureUUID, c.ServerUUID) }

// Changed is what a row change has done so far, in all of its attempts.
type Changed struct {
	Walked   int64 // rows in the ranges that are done, about
	Matched  int64 // rows that met the condition when their range was read
	Rows     int64 // that were deleted or changed
	Archived int64 // rows that were copied to Rest
	// Rest is the table that takes deleted rows, in quotes; "" for none.
	Rest string `json:",omitempty"`
	// Verb, Where and Set are the statement.
	Verb, Where, Set string
}

// Range is a key.Range with its bounds as bytes: JSON keeps them unchanged.
type Range struct {
	From []byte
	To   []byte
}

// Ranges turns ranges into their stored form, in their order.
func Ranges(ranges []key.Range) []Range {
	out := make([]Range, len(ranges))
	for i, r := range ranges {
		out[i] = Range{From: []byte(r.From), To: []byte(r.To)}
	}
	return out
}

// KeyRanges is the inverse of Ranges.
func KeyRanges(ranges []Range) []key.Range {
	out := make([]key.Range, len(ranges))
	for i, r := range ranges {
		out[i] = key.Range{From: key.Key(r.From), To: key.Key(r.To)}
	}
	return out
}
