package plan

import (
	"time"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Plan is what one run will do. It is a value: it goes to JSON and back, and no code changes it.
type Plan struct {
	Purpose Purpose
	Choice  Choice
	Capture Captured
	Native  *Answer // of the server, if it was asked
	Pace    Pace    // of the server and its application
	Swap    *Swap   // the swap's time, if perhaps long
	Source  *schema.Table
	Alter   *ddl.Alter
	Names   Names
	Key     Key
	Server  Server

	// Map is the operator's declaration of columns: new name to old name. An empty old name means
	// that the column is new.
	Map map[string]string
	// Filter is as in Options.
	Filter string `json:",omitempty"`
	// Set is as in Options.
	Set Settings `json:",omitempty"`
	// Into is as in Options.
	Into Into `json:",omitzero"`

	// Foreign are the constraints that move in the swap, with the columns after the ALTER. Linked
	// are other tables that the server locks with the tables at their other ends, and for triggers.
	Foreign []schema.ForeignKey
	Linked  []schema.Name

	// ZeroDates means that sessions that carry out the ALTER accept zero dates.
	ZeroDates bool `json:",omitzero"`

	// Dropped are the constraints of the table that the ALTER drops.
	Dropped []schema.ForeignKey `json:",omitempty"`
	// Acting are the names of the Foreign that change rows of the table without a trace in the
	// binlog. They are on the shadow from the beginning, and rows are read locked.
	Acting []string `json:",omitempty"`

	// Added are the foreign keys that the ALTER adds.
	Added []Added `json:",omitempty"`

	// KeepsUndo means that the run keeps what an undo needs.
	KeepsUndo bool `json:",omitempty"`
	// Back is for an undo; nil for other runs.
	Back *Back `json:",omitempty"`
	// Together are the other tables of the group; nil for a run that is alone.
	Together []schema.Name `json:",omitempty"`
	// Again are the flags with which an undo is begun again if it is killed; nil for others.
	Again []string `json:"-"`
	// Inverse is how the change can be taken back if the server makes it itself; nil if a shadow does.
	Inverse *Inverse `json:",omitempty"`
	// NoWayBack is why a change by a shadow cannot be taken back afterwards; "" if it can, or if that is not known.
	NoWayBack string `json:",omitempty"`
	// BackKey is the key of the new table by which an undo would find its rows; "" if that is not known.
	BackKey string `json:",omitempty"`
	// BackFills are the columns that an undo brings back and that have no default: it needs a value for rows that are new.
	// BackLoses is what an undo changes in values without an error; "" for nothing, or if that is not known.
	BackFills []string `json:",omitempty"`
	BackLoses string   `json:",omitempty"`
	// BackConverted are the columns whose former values an undo does not bring back in a row that it syncs: the change converts them.
	BackConverted []string `json:",omitempty"`
	// BackRefuses are the kinds of rows that the old definition may refuse then; "" for none.
	BackRefuses string `json:",omitempty"`
	// EndsUndo means that the server's own change ends the undo of the one before.
	EndsUndo bool `json:",omitempty"`
	// Earlier is the undo of the change before, which the server has a record of; nil if there is none.
	Earlier *Earlier `json:",omitempty"`

	// Risks are what the operator should know; none of them is Blocking.
	Risks []Risk
}

// Earlier is the undo of an earlier change of the table. Until is the end of its time; "" if it is not open.
type Earlier struct {
	Swapped time.Time
	Until   string
}

// Back is what an undo must know of the change that it takes back.
type Back struct {
	// Lazy means that the rows that have not changed since the swap are left as they are. Otherwise each row is
	// synced.
	Lazy bool
	// Moves means that an undo by all rows reads the changes since the swap as well: they show which key a row had at the swap, and so
	// the values that dropped columns had in it.
	Moves bool `json:",omitempty"`
	// Unseen is why a lazy undo does not compare these rows; "" if it compares all rows.
	Unseen string `json:",omitempty"`
	// Differs means that rows differ which have not changed: the old table has values that the change has rounded, or rows
	// that the last undo or redo has parked. A sync of these rows would lose that.
	Differs bool `json:",omitempty"`
	// Returns means that rows come back which the undo or redo that is taken back has parked.
	Returns bool `json:",omitempty"`
	// Values is as in checkpoint.Undo. ValuesAfter is the one of the undo after the next redo.
	Values, ValuesAfter string `json:"-"`
	// For and Mode are how the undo itself may be taken back.
	For  time.Duration
	Mode string
	// DropOld means that the end of that undo drops the table that this one puts aside.
	DropOld bool `json:",omitempty"`
	// Park copies the rows that the old table refuses to a table of their own, and goes on without them.
	Park bool `json:",omitempty"`
	// Swapped is when the change swapped; zero if nothing was kept of it. Alter are its clauses, as far as they are known.
	// Redo means that it was an undo itself.
	Swapped time.Time
	Alter   string
	Redo    bool `json:",omitempty"`
	// Log is the log of the changes since the swap, which triggers write; "" if the binlog has them.
	Log string `json:",omitempty"`
	// Native means that the server has made the change itself: there is no old table.
	Native bool `json:",omitempty"`
	// Fills are expressions over the table's columns, for columns of the old table that the table does not
	// have. They give the value of a row that the old table does not have.
	Fills map[string]string `json:",omitempty"`
	// Set are the expressions of the change (--set). Only a redo has them in the Plan, too.
	Set Settings `json:",omitempty"`
	// Old is the old table. Rest is the filter of the change: rows of the old table that do not meet it were left out, and stay.
	// Began is the moment in UTC by which that filter reads dates: when the change began, as checkpoint.Start has it.
	Old   *schema.Table `json:"-"`
	Rest  string        `json:",omitempty"`
	Began string        `json:"-"`
	// Pairs are the columns that both tables have, if nothing was kept of the change: name in the table to name in the old
	// one. Otherwise the record has them, and Pairs is nil.
	Pairs map[string]string `json:"-"`
	// Foreign are foreign keys that the change had dropped, and that come back.
	Foreign []schema.ForeignKey `json:",omitempty"`
}

// Adopts reports whether the run is an undo whose shadow is the old table. The undo of a change that the server has made
// itself is a run like any other.
func (b *Back) Adopts() bool { return b != nil && !b.Native }

// LeavesValues is ValuesAfter. There may be no undo.
func (b *Back) LeavesValues() string {
	if b == nil {
		return ""
	}
	return b.ValuesAfter
}

// FromSwap reports whether the undo reads the changes since the swap.
func (b *Back) FromSwap() bool { return b != nil && (b.Lazy || b.Moves) }

// KeepsValues reports whether an undo of the plan keeps values of columns that only the old table has.
func (p *Plan) KeepsValues(old *schema.Table) bool {
	columns, err := p.Columns(old)
	return err == nil && len(columns.Kept) > 0
}

// KeepsUnchanged reports whether the undo must not sync a row that has not changed since the swap.
func (b *Back) KeepsUnchanged() bool { return b != nil && b.Lazy && b.Differs }

// Modes of an undo (docs/undo.md).
const (
	// UndoLazy syncs the rows that have changed since the swap. It needs the position of the swap.
	UndoLazy = "lazy"
	// UndoCold syncs all rows. It needs the old table.
	UndoCold = "cold"
	// UndoNative lets the server alter the table back. It needs no old table.
	UndoNative = "native"
	// UndoRename gives tables their names back: it is that of a statement on complete tables.
	UndoRename = "rename"
)

// Way is the mode of the undo itself.
func (b *Back) Way() string {
	if b.Native {
		return UndoNative
	}
	return UndoMode(b.Lazy)
}

// UndoMode is the mode of an undo that is lazy, or is not.
func UndoMode(lazy bool) string {
	if lazy {
		return UndoLazy
	}
	return UndoCold
}

// Lazy reports whether the run syncs only what has changed since the swap that it takes back.
func (p *Plan) Lazy() bool { return p.Back != nil && p.Back.Lazy }

// Names are the artefacts of a run, all in the source's schema. If the swap takes two sessions,
// each name sorts after the source's own, byte by byte. RENAME takes its locks in the order of
// names (mysql-facts, section 1).
type Names struct {
	Shadow schema.Name
	Old    schema.Name
	State  schema.Name
	// Kept is the name that the old table gets when the swap is done; none if it is Old.
	Kept schema.Name `json:",omitzero"`
	// Log is the table that triggers write changes to; none if changes are read from a binlog.
	Log schema.Name `json:",omitzero"`
	// Since is the log of the changes since the swap, for an undo; none if a binlog has them, or no undo is kept.
	Since schema.Name `json:",omitzero"`
}

// Former is the name that the old table has in the end.
func (n Names) Former() schema.Name {
	if n.Kept != (schema.Name{}) {
		return n.Kept
	}
	return n.Old
}

// All returns the names.
func (n Names) All() []schema.Name {
	names := []schema.Name{n.Shadow, n.Old, n.State}
	if n.Kept != (schema.Name{}) {
		names = append(names, n.Kept)
	}
	for _, log := range []schema.Name{n.Log, n.Since} {
		if log != (schema.Name{}) {
			names = append(names, log)
		}
	}
	return names
}

// Key is the source's key that the run uses to copy rows and follow changes.
type Key struct {
	Name  string // for FORCE INDEX
	Parts []key.Part
	// Own is the number of the first parts that are the index's own. More columns follow if the
	// shadow's index has them before the key's.
	Own int
	// Whole means that the rows can only be read all at once: the index has them in another order
	// than comparisons do, so that a range misses rows.
	Whole bool `json:",omitempty"`
	// ByValue means that the index is not unique: the run follows its values, each with all of its rows.
	ByValue bool `json:",omitempty"`
	// Helper means that the ALTER leaves no index by which a row of the key is found. The shadow has
	// one of ours during the run (Plan.Helper), and the swap drops it.
	Helper bool `json:",omitempty"`
	// Dropped are the columns that the ALTER drops. The shadow has them under names of ours, next to the
	// Helper, until the run's second act, just after the swap.
	Dropped []string `json:",omitempty"`
}

// Codec returns the codec of the key. Make has proved that the codec exists.
func (k Key) Codec() (*key.Codec, error) { return key.NewCodec(k.Parts) }

// Columns returns the names of the key's columns in the source.
func (k Key) Columns() []string {
	names := make([]string, len(k.Parts))
	for i, p := range k.Parts {
		names[i] = p.Column.Name
	}
	return names
}

// Server is what the plan keeps of the server's facts.
type Server struct {
	Version Version
	UUID    string
	ID      uint32
	// RenameUnderLock means that RENAME TABLE works in the session that holds the table lock (MySQL
	// 8.0.13 and later). Otherwise the swap needs two sessions.
	RenameUnderLock bool
	// CommitOrder means that the engine commits in the order of the binlog. If it doesn't, the
	// SELECT side of a sync must be FOR SHARE (decision 4).
	CommitOrder bool
	// Replicas is the number of replicas attached when the plan was made.
	Replicas int
	// PerformanceSchema means that the server counts statements and their time. A run gives way by
	// these figures.
	PerformanceSchema bool
	// MetadataLocks means that performance_schema.metadata_locks shows blockers.
	MetadataLocks bool
	// Capture is the replica that the binlog is read from; nil for the server itself.
	Capture *CaptureServer
	Group   bool // it is one of Group Replication's
	// Followers are the replicas that have registered, as host:port.
	Followers []string
	// BinlogExpire is how long the server keeps its binlogs; 0 for ever, or not known.
	BinlogExpire time.Duration
	// BinlogManaged means that BinlogExpire is a setting of Amazon RDS or Aurora, not of the server.
	BinlogManaged bool
	// Deciding is as in Facts.
	Deciding map[string]string `json:"-"`
	// TimeZone is the zone of a session that sets none; fit for SET time_zone.
	TimeZone   string
	InUTC      bool     // that zone is UTC
	SQLMode    []string // the parts of the global sql_mode
	RowImage   string   // binlog_row_image
	LogBin     bool     // it writes a binlog
	Formats    bool     // it has binlog_format
	BufferPool int64    // innodb_buffer_pool_size, in bytes
	GTID       bool
	// AutoincLockMode is innodb_autoinc_lock_mode. Below 2, an INSERT ... SELECT that raises the
	// counter locks the table against other such statements.
	AutoincLockMode int
	// RequiresKeys means that each new table needs a primary key, temporary tables too.
	RequiresKeys bool
	// LiteralNames means that % and _ are no wildcards in a GRANT (partial_revokes).
	LiteralNames bool
}

// RowBytes is the mean length of a row of the source; 0 if that is not known.
func RowBytes(p *Plan) int64 {
	if p.Source.Rows <= 0 {
		return 0
	}
	return p.Source.DataBytes / p.Source.Rows
}
