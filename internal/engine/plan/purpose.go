package plan

import (
	"fmt"
	"slices"

	"midstream/internal/mysql/schema"
)

// Purpose is what a run is for.
type Purpose string

// The purposes of a run.
const (
	// Altering is a run that changes the table.
	Altering Purpose = ""
	// Rehearsing is a run without the swap.
	Rehearsing Purpose = "rehearsal"
	// RehearsingOnReplica is a rehearsal on a replica, which continues to replicate. Nothing that
	// the rehearsal writes enters the replica's binlog, and no run on the primary uses the names of
	// its tables.
	RehearsingOnReplica Purpose = "rehearsal on a replica"
	// Undoing is a run that takes a change back: its shadow is the old table that the change has left.
	Undoing Purpose = "undo"
	// ChangingRows is a DELETE or an UPDATE in chunks. It alters no table.
	ChangingRows Purpose = "row change"
)

// Purposes are all purposes.
var Purposes = []Purpose{Altering, Rehearsing, RehearsingOnReplica, Undoing}

// Rehearses reports whether the run does not change the table.
func (p Purpose) Rehearses() bool { return p == Rehearsing || p == RehearsingOnReplica }

// Swaps reports whether the run changes the definition of the table.
func (p Purpose) Swaps() bool { return p == Altering || p == Undoing }

// Rehearsal is the purpose as records have it: "" if the run changes the table.
func (p Purpose) Rehearsal() string {
	if !p.Rehearses() {
		return ""
	}
	return string(p)
}

// Suffixes of the artefacts' names. A rehearsal on a replica has suffixes of its own: a run on the
// primary creates tables on the replica too, and a table that exists already would stop its
// replication.
const (
	shadowSuffix    = "_shadow"
	oldSuffix       = "_old"
	stateSuffix     = "_midstream"
	logSuffix       = "_capture"
	undoSuffix      = "_undo"
	undoneSuffix    = "_undone"
	keptSuffix      = "_kept"
	sinceSuffix     = "_since"
	mergedSuffix    = "_merged"
	parkedSuffix    = "_parked"
	rowsSuffix      = "_rows"
	rehearsedSuffix = "_rehearsed"
	rehearsalSuffix = "_rehearsal"
)

// LogOf returns the name of the table that triggers write a table's changes to. The triggers' names
// begin with it.
func LogOf(table schema.Name) schema.Name { return table.Sibling(ownName(table.Table, logSuffix)) }

// UndoKind is the word for that table in its mark.
const UndoKind = "undo"

// UndoOf returns the name of the table that keeps what an undo of the last change of a table needs.
func UndoOf(table schema.Name) schema.Name { return table.Sibling(ownName(table.Table, undoSuffix)) }

// UndoneOf returns the name of the table that an undo puts aside.
func UndoneOf(table schema.Name) schema.Name {
	return table.Sibling(ownName(table.Table, undoneSuffix))
}

// UndoneNames are the names that a table may get that the undo of a TRUNCATE puts aside.
func UndoneNames(table schema.Name) []schema.Name { return numbered(table, undoneSuffix) }

// SinceNames are the names that the log of a table's changes since a swap may get. An undo reads one, and keeps another for
// the redo.
func SinceNames(table schema.Name) []schema.Name {
	return []schema.Name{table.Sibling(ownName(table.Table, sinceSuffix)), table.Sibling(ownName(table.Table, sinceSuffix+"2"))}
}

// MergedOf returns the name of the table that has, during the undo of a TRUNCATE, the keys of the rows that were taken over.
func MergedOf(table schema.Name) schema.Name {
	return table.Sibling(ownName(table.Table, mergedSuffix))
}

// KeptOf returns the name of the table that keeps, during an undo, the values of columns that the change
// has dropped.
func KeptOf(table schema.Name) schema.Name { return table.Sibling(ownName(table.Table, keptSuffix)) }

// ParkedNames are the names that a table may get that takes the rows which an undo can't bring back.
func ParkedNames(table schema.Name) []schema.Name { return numbered(table, parkedSuffix) }

// ValuesNames are the names of the tables with the values that dropped columns had in parked rows, in the order of ParkedNames.
func ValuesNames(table schema.Name) []schema.Name { return numbered(table, parkedSuffix+"_values") }

// numbered are names with a suffix, and with a number behind it from the second on.
func numbered(table schema.Name, suffix string) []schema.Name {
	names := []schema.Name{table.Sibling(ownName(table.Table, suffix))}
	for n := 2; n <= mostOld; n++ {
		names = append(names, table.Sibling(ownName(table.Table, fmt.Sprint(suffix, n))))
	}
	return names
}

// NamesOf returns the names of a table's artefacts.
func NamesOf(table schema.Name) Names { return Altering.NamesOf(table) }

// NamesOf returns the names of the artefacts of a run for this purpose. A rehearsal never has an old
// table.
func (p Purpose) NamesOf(table schema.Name) Names {
	shadow, state := shadowSuffix, stateSuffix
	if p == RehearsingOnReplica {
		shadow, state = rehearsedSuffix, rehearsalSuffix
	}
	return Names{
		Shadow: table.Sibling(ownName(table.Table, shadow)),
		Old:    table.Sibling(suffixed(table.Table, oldSuffix)),
		State:  table.Sibling(ownName(table.Table, state)),
	}
}

// checkReplica checks whether the server is a replica, and whether it can do what the run is for.
func (c *checker) checkReplica() {
	f := c.facts
	switch purpose := c.options.Purpose; {
	case purpose == RehearsingOnReplica && !f.IsReplica:
		c.block(
			CodeReplica, "this server does not replicate from another one", "a rehearsal on a replica reads what it replicates",
			"Leave --on-replica out",
		)
		return
	case !f.IsReplica:
		return
	case purpose == Rehearsing:
		c.block(
			CodeReplica, "this server is a replica of another one",
			"a rehearsal would write transactions to its binlog that other servers don't have", "Use --on-replica",
		)
	case !f.LogReplicaUpdates:
		c.block(CodeReplica, "this server is a replica and doesn't log what it replicates (log_replica_updates is OFF)",
			"a run would miss those changes", "Connect to the primary")
	case purpose.Swaps() && f.Following && !c.options.Replicates:
		c.block(
			CodeFollows, "this server replicates from another one",
			"it looks like a replica: its table would differ from the primary's, and the run's tables would exist only here",
			"Connect to the primary. If you mean this server, use --source-replicates. To try the ALTER here, use --rehearse --on-replica",
		)
	case purpose.Swaps():
		c.warn(CodeReplica, "this server is a replica of another one", "its table would differ from the primary's", "")
	case !f.Replicating:
		c.block(
			CodeReplica, "this server's replication is stopped", "a rehearsal without changes proves little",
			"Start it: START REPLICA",
		)
	}
}

// checkOnReplica checks what a rehearsal on a replica also needs.
func (c *checker) checkOnReplica() {
	f := c.facts
	if f.Version.MariaDB || !f.Version.AtLeast(8, 0, 1) {
		c.block(CodeVersion, f.Version.String()+" doesn't report how far its replication is", "the rehearsal watches it", "")
	}
	if f.SuperReadOnly {
		c.block(CodeReadOnly, "super_read_only is ON", "no account can write, not even to the rehearsal's own table",
			"SET GLOBAL super_read_only = OFF for the time of the rehearsal: read_only may stay ON")
	} else if f.ReadOnly && !f.Grants.Global("SUPER") && !f.Grants.Global("CONNECTION_ADMIN") {
		c.missing([]string{"CONNECTION_ADMIN"}, "*.*", "read_only is ON: only accounts that have it can write")
	}
	if !f.maySilence() {
		least := unloggedBy[:1]
		if !f.Version.AtLeast(8, 0, 14) { // it has no such privilege
			least = unloggedBy[1:2]
		}
		c.missing(least, "*.*", "nothing of the rehearsal may get into the replica's binlog (sql_log_bin = 0)")
	}
	c.checkReadable(replicaWatched, "the run reads the replication lag there")
}

// unloggedBy are privileges. Each of them lets an account switch its own binlog off. The last one
// is MariaDB's.
var unloggedBy = []string{"SESSION_VARIABLES_ADMIN", "SYSTEM_VARIABLES_ADMIN", "SUPER", "BINLOG ADMIN"}

// replicaWatched are the tables of performance_schema that show how far a replica has come, and
// what it waits for.
var replicaWatched = []string{"replication_applier_status_by_worker", "replication_connection_status", "data_lock_waits"}

// maySilence reports whether the account may switch its own binlog off.
func (f *Facts) maySilence() bool { return slices.ContainsFunc(unloggedBy, f.Grants.Global) }
