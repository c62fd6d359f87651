package plan

import (
	"midstream/internal/mysql/schema"
)

// CaptureFacts are what are known of a replica whose binlog is to be read in place of the
// source's.
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

	Workers        int64  // that apply what it receives
	PreservesOrder bool   // they commit, and log, in the order of the source
	ExecMode       string // IDEMPOTENT passes over rows that are not there
	SkipErrors     string // numbers of errors that are passed over; OFF for none

	Channels []Channel
	Grants   Grants
	Columns  []schema.Column // of the table there; nil if there is none
}

// Channel is one connection of a replica to a server that it replicates from.
type Channel struct {
	Name       string
	SourceUUID string
	Source     string // host:port, as this server reaches it
	Running    bool   // both of its threads
	Started    bool   // one of them at least
	Error      string // of the last that has stopped
	Delay      int64  // that is meant, in seconds
	// DatabaseFilters says that statements are filtered by their session's database, or databases renamed.
	DatabaseFilters bool
	Tables          TableFilters
}

// TableFilters are lists of tables, as database.table; the wild ones are patterns.
type TableFilters struct{ Do, Ignore, WildDo, WildIgnore []string }

// hides says that the filters keep a table's rows away. The server looks at them in this order.
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
