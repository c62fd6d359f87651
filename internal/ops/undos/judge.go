package undos

import (
	"context"
	"errors"
	"slices"
	"strings"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/mysql/ddl"
)

// judge finds that the server has all for an undo, and that the tables forbid it as they are now, such as by a foreign key that was
// made since. It makes the plan of the undo, and writes nothing. Privileges that the account lacks, and a run at work, count for
// nothing. An undo by the server's own ALTER is not judged: only the server can, by a table that it makes.
func (s *Standing) judge(ctx context.Context, server planning.Server) {
	u := s.Kept
	possible := u.State == leftovers.UndoOpen || u.State == leftovers.UndoRevoked
	if !possible || u.Record.Ledger != nil || u.Record.Native != nil || s.Follows() {
		return
	}
	wish := planning.Undo{Fills: s.Unfilled.Values()}
	_, err := planning.Make(ctx, server, &ddl.Alter{Table: u.Table}, planning.Options{Undo: &wish, FactsOnly: true})
	var refused *plan.Refused
	passes := func(r plan.Risk) bool { return r.Code == plan.CodeGrants || r.Code == plan.CodeAtWork }
	if !errors.As(err, &refused) || slices.ContainsFunc(refused.Blocking, passes) {
		return
	}
	reasons := make([]string, 0, len(refused.Blocking))
	for _, r := range refused.Blocking {
		reasons = append(reasons, r.What)
	}
	u.State, u.Barred, u.Why = leftovers.UndoEnded, true, "an undo is refused as the tables are now: "+strings.Join(reasons, "; ")
}
