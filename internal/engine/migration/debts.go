package migration

import (
	"sync/atomic"

	"midstream/internal/mysql/schema"
)

// debts are what this run has done on the server, and so may undo (law L8). They are for the story's goroutine, but
// for unmarked.
type debts struct {
	begun    bool        // tables may have been created
	shadow   bool        // the shadow may have been
	saved    bool        // another run could go on from a checkpoint
	unmarked atomic.Bool // the shadow may have its last comment already
	// doubtful says that the shadow is an earlier run's, and that nothing but its name and its
	// columns tell so.
	doubtful bool
	former   bool // an earlier run has left something, and nothing was done about it yet
	half     bool // the first of two statements of the server's own is done
	swapped  bool
	keep     bool     // nothing may be dropped: the outcome of the swap is not known
	left     []string // what could not be removed

	// The names are the plan's, or those of the earlier run that is resumed.
	shadowName schema.Name
	old, kept  string // what the former source is called by the swap, and at the end
}

// owe takes the names of what will be undone.
func (d *debts) owe(shadow schema.Name, old, kept string) {
	d.shadowName, d.old, d.kept = shadow, old, kept
}
