package wholetables

import (
	"fmt"

	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
)

// unfit means that rows forbid the undo. It is a migration.ErrUnfit.
type unfit struct {
	what string
	next string // what to do about the rows
}

func (u *unfit) Error() string        { return "some rows forbid the undo: " + u.what }
func (u *unfit) Is(target error) bool { return target == migration.ErrUnfit }

func rowsText(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

// stillOpen is what is left after an undo that has failed.
func (c *Change) stillOpen() string {
	b := c.plan.Back
	record := plan.UndoOf(b.Source)
	switch b.Kind {
	case ddl.KindDrop:
		return fmt.Sprintf("%s and %s are kept, and the undo of the DROP is still open.", b.Aside, record)
	case ddl.KindTruncate:
		return fmt.Sprintf("%s is unchanged; %s and %s are kept, and the undo is still open.", b.Source, b.Aside, record)
	}
	return fmt.Sprintf("No table was renamed; %s is kept, and the undo is still open.", record)
}
