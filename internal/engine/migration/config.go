package migration

import (
	"time"

	"midstream/internal/engine/apply"
	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/explain"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/prescan"
	"midstream/internal/engine/rowcopy"
	"midstream/internal/engine/together"
	"midstream/internal/engine/verify"
)

// Config of a migration. It is fixed: what may change while a run is at work is in Settings.
type Config struct {
	RowCopy rowcopy.Config
	Apply   apply.Config
	Capture capture.Config
	Prescan prescan.Config
	Verify  verify.Config

	// CaptureFrom is a replica: its binlog is read instead of the source's. If it is nil, the
	// source's binlog is read.
	CaptureFrom *intake.CaptureFrom
	// CatchUp is the maximum number of keys in the backlog at which the run asks for the lock.
	// Defaults to 1,000.
	CatchUp int
	// BacklogLimit is the number of keys in the backlog at which capture waits. Defaults to
	// 1,000,000.
	BacklogLimit int

	// Checkpoint is the time between two checkpoints. Defaults to 5 s.
	Checkpoint time.Duration

	// Indexes chooses when secondary indexes are built. Defaults to DeferAuto.
	Indexes DeferIndexes
	// OldSnapshots chooses what the swap does about transactions that would read a part of the new
	// table (law L10). Defaults to SnapshotsWait.
	OldSnapshots OldSnapshots
	// Explain chooses what the plans of the application's queries on the new table do. Defaults to explain.Warns.
	Explain explain.Mode
	// NoPrescan leaves out the look for rows that the shadow doesn't take: the run then stops
	// at the first of them, while it copies.
	NoPrescan bool
	// Orphans is how long a row may have no parent by a foreign key that the ALTER adds. Defaults to a minute.
	Orphans time.Duration
	// NoVerify waives the comparison of the tables before the swap (law L6).
	NoVerify bool
	// Repair syncs rows that differ again, instead of failing with ErrMismatch.
	Repair bool
	// DropOld drops the old table after the swap, or at the end of the undo.
	DropOld bool
	// Undo is how long the change may be taken back after the swap; 0 for not at all.
	Undo time.Duration
	// Soak is set if the change is the first act of a drop; nil for others.
	Soak *checkpoint.Soak
	// Together is the run's place in a group of runs that swap together. The zero value is a run that is alone.
	Together together.Member
	// Warm means that a process is to follow the table in that time (docs/undo.md).
	Warm bool

	// ApplyAhead applies keys above the frontier instead of dropping them. KeepRepeats syncs a key
	// once for each of its changes. They exist to measure the worth of the two rules.
	ApplyAhead  bool
	KeepRepeats bool
}

// DeferIndexes chooses when secondary indexes of the shadow are built.
type DeferIndexes string

// The ways to build secondary indexes.
const (
	// DeferAuto builds them after the row copy if no replica is attached and the table is not tiny.
	// A replica would stop while it repeats the statement. (A rehearsal on a replica has one
	// attached, to the primary.)
	DeferAuto  DeferIndexes = "auto"
	DeferYes   DeferIndexes = "yes"
	DeferNever DeferIndexes = "no"
)

// OldSnapshots chooses what to do about read views from before the end of the row copy.
type OldSnapshots string

// The ways to deal with old snapshots.
const (
	SnapshotsWait   OldSnapshots = "wait"
	SnapshotsIgnore OldSnapshots = "ignore"
)

// WithDefaults returns the config, with defaults for the fields that are not set.
func (c Config) WithDefaults() Config {
	c.RowCopy, c.Apply, c.Capture = c.RowCopy.WithDefaults(), c.Apply.WithDefaults(), c.Capture.WithDefaults()
	c.Prescan, c.Verify = c.Prescan.WithDefaults(), c.Verify.WithDefaults()
	if c.CatchUp <= 0 {
		c.CatchUp = 1000
	}
	if c.BacklogLimit <= 0 {
		c.BacklogLimit = 1_000_000
	}
	if c.Checkpoint <= 0 {
		c.Checkpoint = 5 * time.Second
	}
	if c.Indexes == "" {
		c.Indexes = DeferAuto
	}
	if c.OldSnapshots == "" {
		c.OldSnapshots = SnapshotsWait
	}
	if c.Explain == "" {
		c.Explain = explain.Warns
	}
	return c
}

// Connections returns the maximum number of connections to the server that a run with that many
// workers of the row copy uses, with the connections of its own housekeeping.
func (c Config) Connections(copying int) int {
	c = c.WithDefaults()
	return housekeeping + c.Apply.Workers + max(copying, c.Verify.Workers, c.Prescan.Workers)
}

// housekeeping is the maximum number of connections that a run has in addition to its workers: for
// its claim, heartbeats, the binlog, the sensors, the withdrawal of statements, and the lock of the
// swap.
const housekeeping = 8

// Defers reports whether a run of the plan leaves secondary indexes for after the row copy.
func (c Config) Defers(p *plan.Plan) bool {
	if len(p.Acting) > 0 {
		return false // constraints need them
	}
	switch c.Indexes {
	case DeferYes:
		return true
	case DeferNever:
		return false
	}
	return p.Server.Replicas == 0 && p.Purpose != plan.RehearsingOnReplica && p.Source.Rows >= deferLeast
}

// deferLeast is the number of rows below which building indexes later is not worth it.
const deferLeast = 10_000
