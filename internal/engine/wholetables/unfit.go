package wholetables

import (
	"context"
	"fmt"

	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// unfit means that rows forbid the undo. It is a failure.ErrUnfit.
type unfit struct {
	what string
	next string // what to do about the rows
}

func (u *unfit) Error() string        { return "some rows forbid the undo: " + u.what }
func (u *unfit) Is(target error) bool { return target == failure.ErrUnfit }

func rowsText(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

// left is what is left after an undo, or a redo, that has failed.
func (c *Change) left(ctx context.Context) string {
	subject, record := c.plan.Subject(), plan.UndoOf(c.plan.Subject())
	state := leftovers.LookAfterUndo(ctx, c.pool, subject).State
	switch b := c.plan.Back; {
	case b == nil:
		return fmt.Sprintf("%s is unchanged, and %s.", schema.List(c.plan.Statement.Tables()), state)
	case b.Kind == ddl.KindDrop:
		return fmt.Sprintf("%s and %s are kept, and %s.", b.Aside, record, state)
	case b.Kind == ddl.KindTruncate:
		return fmt.Sprintf("%s is unchanged; %s and %s are kept, and %s.", b.Source, b.Aside, record, state)
	}
	return fmt.Sprintf("No table was renamed; %s is kept, and %s.", record, state)
}
