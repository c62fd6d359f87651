package plan

import (
	"midstream/internal/mysql/schema"
)

// CaptureFacts are the facts of a replica whose binlog is to be read in place of the source's
// binlog.
type CaptureFacts struct {
	Address string // as the operator gave it
	Version Version
	UUID    string

	LogBin            bool
	LogReplicaUpdates bool
	BinlogFormat      string
	RowImage          string
	BinlogDoDB        []string
	BinlogSkipDB      []string
	GTID              bool
	SyncBinlog        int64
	Group             bool

	Workers        int64 // workers that apply received changes
	PreservesOrder bool  // commits and logs in source order
	// ExecMode is slave_exec_mode: IDEMPOTENT ignores rows that don't exist.
	ExecMode string
	// SkipErrors are the numbers of ignored errors; OFF for none.
	SkipErrors string

	Channels []Channel
	Grants   Grants
	// Columns are the replica's columns of the table; nil if it has no such table.
	Columns []schema.Column
}

// Channel is one connection of a replica to a server that it replicates from.
type Channel struct {
	Name       string
	SourceUUID string
	Source     string // host:port, as this server reaches it
	Running    bool   // both of its threads run
	Started    bool   // one of its threads, or both
	Error      string // of the last stopped thread
	Delay      int64  // intended delay, in seconds
	// DatabaseFilters means that statements are filtered by their session's database, or that
	// databases are renamed.
	DatabaseFilters bool
	Tables          TableFilters
}

// TableFilters are lists of tables, as database.table; the wild lists are patterns.
type TableFilters struct{ Do, Ignore, WildDo, WildIgnore []string }

// hides reports whether the filters leave out a table's rows. The server checks the lists in this
// order.
func (t TableFilters) hides(table schema.Name) bool {
	name := table.Schema + "." + table.Table
	in := func(list []string) bool {
		for _, l := range list {
			if l == name {
				return true
			}
		}
		return false
	}
	matches := func(list []string) bool {
		for _, l := range list {
			if like(l, name) {
				return true
			}
		}
		return false
	}
	switch {
	case in(t.Do):
		return false
	case in(t.Ignore):
		return true
	case matches(t.WildDo):
		return false
	case matches(t.WildIgnore):
		return true
	}
	return len(t.Do)+len(t.WildDo) > 0
}
