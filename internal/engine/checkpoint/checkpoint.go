package checkpoint

import (
	"cmp"
	"time"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/schema"
)

// Version of the formats below. It goes up by one where a program that does not know the change
// would go on wrongly, and stays where one may pass over it. A newer one than this is refused and
// left as it is (ErrNewer); an older one than Oldest is begun anew (ErrUnreadable). For a later
// program to be told by an earlier one the table keeps its columns, and the checkpoint its Version.
const (
	Version = 2
	Oldest  = 2
)

// Start is what a run began with. Who goes on from a checkpoint of it must begin with the same.
type Start struct {
	// Purpose is the run's, as package plan has it; "" for one that alters the table.
	Purpose string            `json:",omitempty"`
	Source  string            // its definition: SHOW CREATE TABLE without the counter
	Alter   string            // the clauses
	Key     string            // the name of the key that is followed
	Map     map[string]string // the operator's
	Zone    string            // of the server
	// ServerTime and UTC are the time at which the run began, by the server's clock in its
	// zone and in UTC: new columns with DEFAULT CURRENT_TIMESTAMP have it.
	ServerTime, UTC string

	Shadow *schema.Table // as the server made it, all indexes included
	// Unmarked says that the shadow was made without a mark.
	Unmarked bool            `json:",omitempty"`
	Comment  string          // that the table shall have in the end
	Old      string          // the name that the source shall get
	Kept     string          `json:",omitempty"` // and the one that it shall have in the end, where it is another
	Columns  []schema.Column // of the source
	// Capture is the way in which changes are captured, as package plan has it; "" for the binlog.
	// Sight is what capture by triggers relies on, in package trigger's words.
	Capture string `json:",omitempty"`
	Sight   string `json:",omitempty"`
	// Foreign are the constraints that go over in the swap.
	Foreign []schema.ForeignKey `json:",omitempty"`
	Dropped []schema.ForeignKey `json:",omitempty"` // that the ALTER drops
	// Acting are the names of those that stand on the shadow from the beginning, and Keyed of those
	// that have columns of the key.
	Acting, Keyed []string `json:",omitempty"`
	// Triggers are the source's, which go over too.
	Triggers []schema.Trigger `json:",omitempty"`
}

// Checkpoint is how far a run has come.
type Checkpoint struct {
	Version int
	Phase   string
	Taken   time.Time // by the client's clock, for people
	Rows    int64     // copied
	// Unmarked says that the shadow may have its last comment already, and no mark.
	Unmarked bool
	// Shadow is what the shadow is called; "" for the name that it has where no other was wished.
	Shadow string `json:",omitempty"`
	// Copied are the ranges whose rows are committed in the shadow.
	Copied []Range
	// Position is the place in the binlog from which capture must go on: every change
	// before it is in the shadow, or lies ahead of the row copy.
	Position string
	// GTIDs are the transactions that stand before Position; "" where some have none.
	GTIDs string
	// Executed are the GTIDs of all transactions that the server had committed, those of the
	// rows in the shadow among them; "" if it has no GTIDs.
	Executed string
	// ServerUUID names the server that the run was on, whose binlog Position is of unless CaptureUUID names a
	// replica. CaptureName is that replica's address, for people, and CaptureStart as ServerStart.
	ServerUUID   string
	CaptureUUID  string `json:",omitempty"`
	CaptureName  string `json:",omitempty"`
	CaptureStart int64  `json:",omitempty"`
	// ServerStart is when that server was started, by its own clock, in seconds of Unix time.
	ServerStart int64
	// Distrusted says that the capture may have missed changes: all rows must be compared, and
	// those that differ synced anew.
	Distrusted bool
}

// CaptureServer names the server whose binlog Position is of.
func (c Checkpoint) CaptureServer() string { return cmp.Or(c.CaptureUUID, c.ServerUUID) }

// Range is a key.Range whose bounds are bytes, so that JSON keeps them.
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
