package checkpoint

import "midstream/internal/mysql/schema"

// Native is what must be known to take back a change that the server makes itself: there is no old table.
type Native struct {
	// Step is Doing before the change, Made after it, and Undoing before it is taken back. A kill may come between a
	// step and its statement: then the table's definition shows whether the statement was executed.
	Step string
	// Alter has the clauses of the change.
	Alter string
	// Before is the table as it was. After is the table as the change has made it; while Step is Doing, it is an empty
	// copy on which the change was tried, with the table's comment.
	Before, After *schema.Table
	// Again is as Checkpoint has it, while the change is taken back.
	Again []string `json:",omitempty"`
}
