package migration

import (
	"sync/atomic"

	"midstream/internal/engine/failure"
	"midstream/internal/mysql/schema"
)

// debts are what this run has done on the server, and so may have to undo (law L8). conclude and
// cleanUp decide by them. Only the story's goroutine uses them, except unmarked.
type debts struct {
	// These are facts: what has happened so far.

	begun    bool        // tables may have been created
	shadow   bool        // the shadow may have been created
	saved    bool        // another run could resume from a checkpoint
	unmarked atomic.Bool // the shadow may already have its final comment
	// doubtful means that the shadow is an earlier run's, and that only its name and its columns
	// identify it.
	doubtful bool
	// former means that an earlier run has left something, and this run has not dealt with it yet.
	former bool
	// half means that the first of the server's own two statements is done.
	half bool
	// done means that the table was altered, by a swap or by the server's own statement.
	done bool

	// These are decisions.

	// keep means that the run removes nothing. It is set if the outcome of the swap is unknown,
	// another run has taken over, the server is another one, or the run can be resumed; and by
	// Rehearsal.Keep.
	keep    bool
	left    []string // tables that could not be removed
	helpers []string // columns that the second act could not drop

	// The names are the plan's, or those of the earlier run that is resumed.

	shadowName   schema.Name
	oldName      string // of the old table in the swap
	finalOldName string // of the old table at the end
}

// owe takes the names of the tables that this run may have to undo.
func (d *debts) owe(shadow schema.Name, oldName, finalOldName string) {
	d.shadowName, d.oldName, d.finalOldName = shadow, oldName, finalOldName
}

// mayRemove reports whether the run removes what it created.
func (d *debts) mayRemove() bool { return d.begun && !d.keep }

// spares reports whether a table only has the shadow's name: it is older than this run's shadow.
func (d *debts) spares(table schema.Name) bool { return table == d.shadowName && !d.shadow }

// leave records that a table could not be removed.
func (d *debts) leave(table schema.Name) { d.left = append(d.left, table.String()) }

// canResume reports whether a run that ended with the error has left everything for another run, and
// another run may have to resume it.
func (d *debts) canResume(err error) bool {
	if err == nil || !d.saved || d.done {
		return false
	}
	return d.doubtful || failure.Resumable(err) // a doubtful shadow is perhaps not ours to drop
}
