package migration

import (
	"sync/atomic"

	"midstream/internal/mysql/schema"
)

// debts are what this run has done on the server, and so may undo (law L8). They are for the story's goroutine, but
// for unmarked.
type debts struct {
	begun  bool // tables may have been created
	shadow bool // the shadow may have been
	// saved means that another run could resume from a checkpoint.
	saved bool
	// unmarked means that the shadow may already have its final comment.
	unmarked atomic.Bool
	// doubtful means that the shadow is an earlier run's, and that only its name and its columns
	// identify it.
	doubtful bool
	// former means that an earlier run has left something, and this run has not dealt with it yet.
	former bool
	// half means that the first of the server's own two statements is done.
	half    bool
	swapped bool
	// keep means that nothing may be dropped: the outcome of the swap is not known.
	keep bool
	left []string // what could not be removed

	// The names are the plan's names, or the names of the earlier run that is resumed.
	shadowName schema.Name
	// old is the former source's name in the swap; kept is its name at the end.
	old, kept string
}

// owe takes the names of what will be undone.
func (d *debts) owe(shadow schema.Name, old, kept string) {
	d.shadowName, d.old, d.kept = shadow, old, kept
}
