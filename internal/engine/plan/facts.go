package plan

import (
	"strings"
	"time"

	"midstream/internal/mysql/schema"
)

// FewRows is how many rows a run reads at once if it can't cut the table into ranges.
const FewRows = 10_000

// Facts are what Gather reads of the server and the account before a plan is made.
type Facts struct {
	Version  Version
	UUID     string // schema.ThisServer
	ServerID uint32
	// RoundTrip is how long the server takes at least to answer.
	RoundTrip time.Duration
	User      string // CURRENT_USER(), as name@host

	LogBin       bool
	BinlogFormat string // ROW, MIXED, STATEMENT
	RowImage     string // FULL, NOBLOB, MINIMAL
	CommitOrder  bool   // binlog_order_commits
	// GTID means that transactions have GTIDs that other servers recognize.
	GTID         bool
	SyncBinlog   int64
	BinlogDoDB   []string // binlog_do_db
	BinlogSkipDB []string // binlog_ignore_db
	BinlogExpire time.Duration
	// BinlogManaged means that BinlogExpire is a setting of Amazon RDS or Aurora, not of the server.
	BinlogManaged bool
	// LogReplicaUpdates means that the server's own binlog gets the changes that replication
	// applies.
	LogReplicaUpdates bool

	// OnlineLog is innodb_online_alter_log_max_size, in bytes: the changes of the application
	// while the server builds an index in place.
	OnlineLog int64
	// BufferPool is innodb_buffer_pool_size, in bytes, and AdaptiveHash innodb_adaptive_hash_index:
	// a DROP takes the table's pages out of both.
	BufferPool   int64
	AdaptiveHash bool
	// RowVersions is how often columns were added or dropped by INSTANT since the table was built.
	RowVersions int
	// Writes is how many rows of the table are written in a second, on average since the server's
	// start; negative if that is not known.
	Writes float64
	// Usage is what the server has counted of the table; nil if it does not count, or the account may not see that.
	Usage *Usage

	// Capture is the replica that the binlog is to be read from; nil for the source itself.
	Capture *CaptureFacts

	Connections Connections
	// Trial is an empty copy of the table that the ALTER was tried on; nil if there was none.
	Trial *Trial
	// Native is how the server would carry the ALTER out itself; nil if it was not asked.
	Native *Answer
	// Split is the ALTER in two statements, if that makes less work for the server; else nil.
	Split *Split
	// Swap is the time of the swap; nil if it is not long, or was not measured.
	Swap *Swap

	ReadOnly      bool
	SuperReadOnly bool
	// Galera and MultiPrimary are clusters with other members that ignore a table lock.
	Galera       bool
	MultiPrimary bool

	LowerCaseTableNames int
	// RequiresKeys means that each new table needs a primary key, also in our sessions.
	RequiresKeys      bool
	PerformanceSchema bool
	MDLInstrument     bool // wait/lock/metadata/sql/mdl is enabled
	InstrumentUnknown bool // the account may not check that
	AutoincLockMode   int
	TimeZone          string // the global time_zone
	SystemTimeZone    string
	// Deciding are settings that may decide the value of an operator's expression, with the global value of each.
	Deciding map[string]string
	// Group means that the server is a member of Group Replication.
	Group        bool
	GroupPrimary string // host:port of the group's primary, as a member knows it; "" if it does not
	// HasRows means that the table has rows, for any statistics.
	HasRows bool
	// Counted is the number of its rows, up to a limit, if the statistics show none.
	Counted int64
	// Few means that the table has at most FewRows rows. They were counted. MariaDB only.
	Few bool
	// ZeroDates means that the server's ALTER gives rows the date 0000-00-00 (TakesZeroDates).
	ZeroDates bool
	SQLMode   []string // the parts of the global sql_mode

	// Replicas are the registered replicas, as host:port. Dumps are the sessions that read the
	// binlog, as user@host: replicas, but also other tools and other runs of ours, because these
	// don't register.
	Replicas []string
	Dumps    []string
	// BinlogReaders are those of Dumps that are no replicas and no runs, as far as the server shows that: user@host, with the
	// program's name if it has given one.
	BinlogReaders []string
	IsReplica     bool // this server replicates from another
	// Replicating means that all its replication threads run. Following means that any of them is
	// started.
	Replicating bool
	Following   bool
	// ReplicasUnknown means that the account may not look for replicas.
	ReplicasUnknown bool

	// NullFree are the names of keys of which columns may be NULL, and no row has NULL there: of the unique keys, and of all indexes if
	// the table has no key for rows without NULL.
	NullFree []string
	// Referencing are the foreign keys that refer to the table, as InnoDB knows them, in any
	// schema. information_schema shows only keys that the account has a privilege on.
	Referencing []schema.ForeignKey
	Foreign     ForeignFacts
	// Parents are the tables to which foreign keys of the ALTER refer, as far as they exist.
	Parents []*schema.Table
	// TriggerTables are tables that the server may lock together with the table, because its
	// triggers seem to use them.
	TriggerTables []schema.Name
	// Dependents are the objects that name the table; nil if the plan did not need them.
	Dependents *Dependents
	// Into are the facts of the place to which the swap takes the new table; nil if it stays where it is.
	Into *IntoFacts
	// Collation is the database's. Triggers that are created now remember it.
	Collation string
	// TrustCreators is log_bin_trust_function_creators.
	TrustCreators bool

	Grants Grants
	// Scratch is the server on which the questions are asked that need a table of ours, with another account; "" for the table's own.
	Scratch string
	// ScratchBuild is how that server's build differs from the build of the table's; "" if it does not.
	ScratchBuild string
	// Taken are the tables and views that have the names of artefacts.
	Taken []Taken
	// RunBy is the connection of the run that is at work on the table, 0 if none is.
	RunBy uint64
}

// Taken is a table that has an artefact's name.
type Taken struct {
	Name    schema.Name
	Comment string
}

// sameTable reports whether two names are one table's on this server.
func (f *Facts) sameTable(a, b schema.Name) bool {
	return a == b || f.LowerCaseTableNames != 0 && strings.EqualFold(a.Schema, b.Schema) && strings.EqualFold(a.Table, b.Table)
}

// hidesSchema reports whether the server's binlog leaves a schema out.
func (f *Facts) hidesSchema(database string) bool {
	return len(f.BinlogDoDB) > 0 && !contains(f.BinlogDoDB, database) || contains(f.BinlogSkipDB, database)
}

// replicas is the number of replicas that the engine must spare.
func (f *Facts) replicas() int {
	if f.ReplicasUnknown {
		return max(len(f.Replicas), len(f.Dumps))
	}
	return len(f.Replicas)
}
