package plan

import (
	"fmt"
	"strings"

	"midstream/internal/mysql/schema"
)

// If changes are read from a replica of the source, its binlog must have all changes of the table,
// in the order in which the source committed them. Then the heartbeats, which are written on the
// source, prove that the changes have arrived. What the replica has logged was in the source's
// binlog before. A heartbeat that is written afterwards is behind it there (law L3), and comes
// behind it through the replica (law L6).

// CodeCapture is the code of what prevents reading changes from a replica.
const CodeCapture Code = "capture-from"

// CaptureServer is what the plan keeps of a replica from which changes are read.
type CaptureServer struct {
	Address    string // as the operator gave it
	UUID       string
	GTID       bool
	SyncBinlog int64
}

// CaptureFrom makes the plan read the binlog of a replica.
func (f *Facts) CaptureFrom(c *CaptureFacts) { f.Capture, f.RowImage = c, c.RowImage }

// from returns the channel that leads to a server.
func (f *CaptureFacts) from(uuid string) (Channel, bool) {
	for _, c := range f.Channels {
		if uuid != "" && c.SourceUUID == uuid {
			return c, true
		}
	}
	return Channel{}, false
}

// Running reports whether the replica receives from the source and applies what it receives. If
// not, it also returns why, as far as the replica shows it.
func (f *CaptureFacts) Running(source string) (bool, string) {
	c, _ := f.from(source)
	return c.Running, c.Error
}

// Faults are the reasons why changes of the tables must not be read from the replica, whether or
// not it replicates now: its binlog may leave out changes of the tables, or have them in another
// order. A run checks them repeatedly.
func (f *CaptureFacts) Faults(source string, tables []schema.Name) []Risk {
	var faults []Risk
	add := func(what, why, fix string) {
		faults = append(faults, Risk{Code: CodeCapture, What: f.Address + ": " + what, Why: why, Fix: fix, Blocking: true})
	}
	if f.UUID == source {
		add("it is the source itself", "the run reads changes from there anyway", "Leave --capture-from out, or name a replica")
		return faults
	}
	channel, direct := f.from(source)
	if !direct {
		add("it does not replicate from the source", "servers between the two may pass transactions on in another order",
			"Name a replica that replicates from the source itself (server_uuid "+source+")")
		return faults
	}
	if !f.LogBin || !f.LogReplicaUpdates {
		add(
			"it doesn't log what it replicates (log_bin, log_replica_updates)", "changes are read from its binlog",
			"Start it with log_bin and log_replica_updates = ON",
		)
	}
	if f.LogBin && f.BinlogFormat != "ROW" {
		add(
			"its binlog_format is "+f.BinlogFormat, "statements in the binlog don't show which rows they changed",
			"SET GLOBAL binlog_format = 'ROW' there, then STOP REPLICA and START REPLICA",
		)
	}
	if f.Workers > 1 && !f.PreservesOrder {
		add(
			fmt.Sprintf("it applies with %d workers, and not in the source's order", f.Workers),
			"a heartbeat would overtake changes that were committed before it",
			"There: STOP REPLICA SQL_THREAD; SET GLOBAL replica_preserve_commit_order = ON; START REPLICA SQL_THREAD",
		)
	}
	if strings.Contains(f.ExecMode, "IDEMPOTENT") || f.SkipErrors != "" && f.SkipErrors != "OFF" {
		add(
			"it passes over errors (replica_exec_mode, replica_skip_errors)",
			"changes that it skips do not appear in its binlog",
			"Set replica_exec_mode = STRICT and leave replica_skip_errors out",
		)
	}
	f.filterFaults(channel, tables, add)
	return faults
}

// filterFaults are the faults of replication filters.
func (f *CaptureFacts) filterFaults(channel Channel, tables []schema.Name, add func(what, why, fix string)) {
	const fix = "Name a replica without filters, or remove them: CHANGE REPLICATION FILTER"
	database := tables[0].Schema
	if len(f.BinlogDoDB) > 0 && !contains(f.BinlogDoDB, database) || contains(f.BinlogSkipDB, database) {
		add(
			"its binlog leaves out schema "+database+" (binlog_do_db, binlog_ignore_db)",
			"a run would miss changes of the table", "Start it without that filter",
		)
	}
	if channel.DatabaseFilters {
		add("it filters by database (replicate_do_db, replicate_ignore_db, replicate_rewrite_db)",
			"whether it sees an ALTER or a TRUNCATE depends on the session's default database", fix)
	}
	for _, t := range tables {
		if channel.Tables.hides(t) {
			add("its replication filters leave out "+t.String(), "it must replicate the table, the new one and the heartbeats", fix)
		}
	}
}

// checkCapture checks the replica whose binlog is to be read, if there is one.
func (c *checker) checkCapture() {
	f := c.facts.Capture
	if f == nil {
		return
	}
	block := func(what, why, fix string) { c.block(CodeCapture, f.Address+": "+what, why, fix) }
	switch {
	case c.options.Purpose == RehearsingOnReplica:
		block("a rehearsal on a replica reads that replica's binlog", "its heartbeats go nowhere else", "Leave --capture-from out")
		return
	case f.Version.MariaDB || c.facts.Version.MariaDB || !f.Version.AtLeast(8, 0, 0) || !c.facts.Version.AtLeast(8, 0, 0):
		block(
			f.Version.String()+" behind "+c.facts.Version.String(),
			"a run reads changes only from replicas of MySQL 8.0 and later", "Leave --capture-from out",
		)
		return
	case c.facts.Group || f.Group:
		block(
			"the source or it is a member of Group Replication",
			"members write transactions to their binlogs in another order than the primary: "+
				"the run could read a change there before the primary shows it",
			"Leave --capture-from out",
		)
		return
	}
	faults := f.Faults(c.facts.UUID, append([]schema.Name{c.table.Name}, c.names.All()...))
	c.blocking = append(c.blocking, faults...)
	if channel, direct := f.from(c.facts.UUID); direct {
		if !channel.Running {
			block("its replication is stopped", "no changes arrive until it is started: "+channel.Error, "Start it: START REPLICA")
		}
		if channel.Delay > 0 {
			block(
				fmt.Sprintf("it has a configured delay of %d s (SOURCE_DELAY)", channel.Delay),
				"the cut-over would hold its lock for that long",
				"Name another replica, or there: STOP REPLICA SQL_THREAD; CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 0; START REPLICA SQL_THREAD",
			)
		}
		c.checkCaptureTable()
	}
	c.warn(
		CodeCapture,
		"changes are read from replica "+f.Address,
		"the replica logs writes in STATEMENT format as rows, including rows that it "+
			"has changed itself: the run compares all rows before the swap and ignores --no-verify",
		"",
	)
}

// checkCaptureTable compares the replica's table with the source, and checks the account.
func (c *checker) checkCaptureTable() {
	f := c.facts.Capture
	same := len(f.Columns) == len(c.table.Columns)
	for i := 0; same && i < len(f.Columns); i++ {
		a, b := f.Columns[i], c.table.Columns[i]
		same = a.Name == b.Name && a.Type == b.Type && a.Charset == b.Charset
	}
	if !same {
		c.block(
			CodeCapture, f.Address+": its table has other columns than the source",
			"row events identify columns by position", "Make the tables equal, or name another replica",
		)
	}
	var missing []string
	for _, p := range []string{"REPLICATION SLAVE", "REPLICATION CLIENT"} {
		if !f.Grants.Global(p) && !(p == "REPLICATION CLIENT" && f.Grants.Global("SUPER")) {
			missing = append(missing, p)
		}
	}
	c.missing(missing, "*.*", "of the account on "+f.Address+", to read its binlog")
	if !f.Grants.On("SELECT", c.table.Name.Schema, "") && !f.Grants.On("SELECT", c.table.Name.Schema, c.names.State.Table) {
		c.missing([]string{"SELECT"}, c.names.State.Quoted(), "of the account on "+f.Address+", to see the heartbeats arrive")
	}
}
