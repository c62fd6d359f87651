package undos

import (
	"context"
	"errors"
	"fmt"
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
	wish, options := planning.Undo{Fills: s.Unfilled.Values()}, plan.Options{}
	for _, table := range u.Together {
		options.Together = append(options.Together, plan.Partner{Alter: &ddl.Alter{Table: table}})
	}
	_, err := planning.Make(ctx, server, &ddl.Alter{Table: u.Table}, planning.Options{Undo: &wish, Plan: options, FactsOnly: true})
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

// barTogether bars the undos of tables that are taken back in one step with a table whose undo is refused.
func barTogether(list []Standing) {
	for _, barred := range list {
		for _, other := range list {
			u, of := other.Kept, barred.Kept
			if of.Barred && slices.Contains(of.Together, u.Table) && (u.State == leftovers.UndoOpen || u.State == leftovers.UndoRevoked) {
				u.State, u.Barred, u.Why = leftovers.UndoEnded, true, fmt.Sprintf("of %s, which is taken back in the same step: %s", of.Table, of.Why)
			}
		}
	}
}
