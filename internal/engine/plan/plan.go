package plan

import (
	"midstream/internal/engine/key"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Plan is what one run will do. It is a value: it goes to JSON and back, and is
// never changed once made.
type Plan struct {
	Purpose Purpose
	Choice  Choice
	Capture Captured
	Native  *Answer // of the server, where it was asked
	Pace    Pace    // of the server and its application
	Swap    *Swap   // what the swap takes, if that may be long
	Source  *schema.Table
	Alter   *ddl.Alter
	Names   Names
	Key     Key
	Server  Server

	// Map is the operator's word on columns: new name to old name. An empty old name
	// says that the column is new.
	Map map[string]string

	// Foreign are the constraints that go over in the swap, with the columns as they are after the
	// ALTER, and Linked what the server locks beside the tables at their other ends, and for triggers.
	Foreign []schema.ForeignKey
	Linked  []schema.Name

	// ZeroDates says that sessions which carry out the ALTER take zero dates.
	ZeroDates bool `json:",omitzero"`

	// Dropped are the constraints of the table that the ALTER drops.
	Dropped []schema.ForeignKey `json:",omitempty"`
	// Acting are the names of those of Foreign that change rows of the table without a word in the binlog. They
	// stand on the shadow from the beginning, and rows are read locked.
	Acting []string `json:",omitempty"`

	// Risks are what the operator should know; none of them is Blocking.
	Risks []Risk
}

// Names are the artefacts of a run, all in the source's schema. Where the swap takes two
// sessions each sorts after the source's own name, byte by byte, for RENAME takes its locks
// in the order of names (mysql-facts, section 1).
type Names struct {
	Shadow schema.Name
	Old    schema.Name
	State  schema.Name
	// Kept is the name that the old table gets when the swap is done; none where it is Old.
	Kept schema.Name `json:",omitzero"`
	// Log is what triggers write changes to; none where changes are read from a binlog.
	Log schema.Name `json:",omitzero"`
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
	if n.Log != (schema.Name{}) {
		names = append(names, n.Log)
	}
	return names
}

// Key is the key of the source by which rows are copied and changes followed.
type Key struct {
	Name  string // for FORCE INDEX
	Parts []key.Part
}

// Codec returns the codec of the key. Make has proved that there is one.
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
	// RenameUnderLock says that RENAME TABLE works in the session that holds the
	// table lock (MySQL 8.0.13 and later); else the swap needs two sessions.
	RenameUnderLock bool
	// CommitOrder says that the engine commits in the order of the binlog. Where it
	// doesn't, the SELECT side of a sync must be FOR SHARE (decision 4).
	CommitOrder bool
	// Replicas is the number of replicas attached when the plan was made.
	Replicas int
	// PerformanceSchema says that the server counts statements and the time that they take, by which a run gives way.
	PerformanceSchema bool
	// MetadataLocks says that performance_schema.metadata_locks shows blockers.
	MetadataLocks bool
	// Capture is the replica whose binlog is read; nil for the server's own.
	Capture    *CaptureServer
	Group      bool     // it is one of Group Replication's
	Followers  []string // host:port of the replicas that have told it
	TimeZone   string   // the zone of a session that sets none; fit for SET time_zone
	InUTC      bool     // that zone is UTC
	SQLMode    []string // the parts of the global sql_mode
	RowImage   string   // binlog_row_image
	LogBin     bool     // it writes a binlog
	Formats    bool     // it has binlog_format
	BufferPool int64    // innodb_buffer_pool_size, in bytes
	GTID       bool
	// AutoincLockMode is innodb_autoinc_lock_mode: below 2 an INSERT ... SELECT that
	// raises the counter locks the table against others of its kind.
	AutoincLockMode int
	// LiteralNames says that % and _ are no wildcards in a GRANT (partial_revokes).
	LiteralNames bool
}
