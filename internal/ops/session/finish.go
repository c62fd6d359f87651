package session

import (
	"context"
	"errors"
	"fmt"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/engine/together"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// runAgain is what to do about an earlier run that could not be finished.
const runAgain = "remove the cause, then run the same command again"

// Finish brings an earlier run to its end that was stopped after its swap, and says whether that was all
// there is to do for the ALTER, or for the undo if it has no clauses. name is the table as the server spells it. Its error is an *Error,
// or a *plan.Refused if the account lacks privileges. A member of a group is also done if another one was swapped with it.
func Finish(
	ctx context.Context,
	s *Server,
	alter *ddl.Alter,
	ending leftovers.Ending,
	member together.Member,
	note func(string),
) (name schema.Name, result migration.Result, done bool, err error) {
	name = alter.Table
	if table, err := schema.Load(ctx, s.Pool.DB(), name); err == nil {
		name = table.Name
	}
	finished, err := leftovers.Finish(ctx, s.Pool, name, ending, note)
	switch {
	case errors.Is(err, leftovers.ErrSwapped):
		left, next := fmt.Sprintf("%s was altered; its old table and %s may be left", name, plan.NamesOf(name).State), runAgain
		if errors.Is(err, leftovers.ErrUndoTaken) {
			left, next = leftovers.AfterTaken(name)
		}
		return name, migration.Result{Swapped: true}, false, &Error{Outcome: Unremoved, Err: err, Left: left, Next: next}
	case dbconn.Denied(err):
		err = planning.Denied(ctx, s.Planning(), name, err)
		if errors.Is(err, plan.ErrRefused) {
			return name, result, false, err
		}
		fallthrough
	case err != nil:
		return name, result, false, &Error{Outcome: Unread, Err: err, Next: runAgain}
	}
	var same leftovers.Finished // of the same change
	if finished != nil {
		note(fmt.Sprintf("an earlier run on %s was stopped after its swap; its remaining work is done now", alter.Table))
		if undo := alter.Clauses == ""; undo == finished.Undid && (undo || ddl.SameClauses(finished.Alter, alter.Clauses)) {
			same, done = *finished, true
		}
	}
	done, err = member.Settle(ctx, done, same.Together)
	return name, migration.Result{Swapped: done, Resumed: done, Old: same.Old}, done, err
}
