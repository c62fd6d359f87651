package ghost

import (
	"context"
	"fmt"
	"strings"
	"time"

	"midstream/internal/compat/speech"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/units"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/session"
)

// keptFor is how long a run with --checkpoint keeps what --revert needs: that program has no such time, and a server
// keeps its binlogs for so long by default.
const keptFor = 30 * 24 * time.Hour

// Reverts means that the last change of the table is to be taken back.
func (a *Asked) Reverts() bool { return a.said.on("revert") }

// Arguments are those of midstream undo; nil for a run.
func (a *Asked) Arguments() []string {
	if !a.Reverts() {
		return nil
	}
	return []string{a.Table.Dotted()}
}

// keeps means that the run keeps what --revert needs.
func (a *Asked) keeps() bool {
	return a.said.on("checkpoint") && !a.Reverts() && !a.Tries() && !a.drops()
}

// drops means that the run drops the old table.
func (a *Asked) drops() bool { return a.said.on("ok-to-drop-table") }

// revert reads what --revert needs and what has no effect with it.
func (r *reading) revert() {
	if !r.on("revert") {
		if r.text("old-table") != "" {
			r.note("--old-table has no effect without --revert")
		}
		return
	}
	if r.on("resume") {
		r.problem("--revert cannot be used with --resume")
	}
	if r.text("old-table") == "" {
		r.problem("--revert must be called with --old-table")
	}
	if r.on("test-on-replica") {
		r.problem("--revert and --test-on-replica are mutually exclusive")
	}
	for _, name := range []string{
		"alter", "attempt-instant-ddl", "include-triggers", "discard-foreign-keys", "initially-drop-ghost-table",
	} {
		if r.on(name) || name == "alter" && r.text(name) != "" {
			r.note("--%s was provided with --revert, it will be ignored", name)
		}
	}
}

// revertNames are the names of an undo: the old table is its new table. The redo has the name of the first run again.
func (a *Asked) revertNames(stamp string) {
	a.shadow, a.old = a.said.text("old-table"), a.sibling(stamp+"_rev_del")
	if a.old == a.shadow {
		a.old = a.sibling(stamp + "_del")
	}
}

// nameSafely has the plan name the old table if an undo must swap with it and the server could not do that under the name
// that the command line means. It returns that name for a run that keeps the table for --revert; else "".
func (a *Asked) nameSafely(v plan.Version) string {
	if !a.keeps() && !a.Reverts() || plan.ShadowName(v, a.Table, a.old) == a.Table.Sibling(a.old) {
		return ""
	}
	a.safely, a.old = true, plan.NamesOf(a.Table).Old.Table
	if !a.Reverts() {
		return a.old
	}
	if undone := plan.UndoneOf(a.Table).Table; a.shadow != undone {
		a.old = undone
	}
	return ""
}

// nothingKept is what that program says if there is nothing to revert.
const nothingKept = "No checkpoint found, unable to revert"

// revertible fails if there is nothing that --revert could take back to the old table that the command line names.
func (r *Drive) revertible(ctx context.Context, s *session.Server) error {
	table := r.asked.Table
	old := table.Sibling(r.asked.shadow)
	all, err := leftovers.Undoables(ctx, s.Pool, &table)
	switch {
	case err != nil:
		return speech.Unwritten(err, "")
	case len(all) == 0 || all[0].Record.Ledger != nil:
		return r.noCheckpoint(ctx, s, old)
	case len(all[0].Together) > 0:
		return refused(
			fmt.Errorf("%s: %s was changed in one step with %s", nothingKept, table.Quoted(), schema.List(all[0].Together)),
			"midstream undo  "+table.Argument()+" takes all of these tables back in one step",
		)
	case all[0].Record.Native != nil:
		return refused(
			fmt.Errorf("%s: the server made the last change of %s itself, which left no old table", nothingKept, table.Quoted()),
			"midstream undo  "+table.Argument()+" takes it back",
		)
	case !strings.EqualFold(all[0].Old.Table, old.Table):
		return refused(
			fmt.Errorf("--old-table is %s, but the last change of %s left %s", old.Quoted(), table.Quoted(), all[0].Old.Quoted()),
			"--old-table="+all[0].Old.Table+" takes that change back",
		)
	}
	return nil
}

// noteUndo tells that the run ends the undo of an earlier change.
func (r *Drive) noteUndo(ctx context.Context, s *session.Server) error {
	all, err := leftovers.Undoables(ctx, s.Pool, &r.asked.Table)
	for _, u := range all {
		if u.State == leftovers.UndoEnded {
			continue
		}
		text := fmt.Sprintf("the last change of %s can no longer be reverted after this run", u.Table.Quoted())
		if u.Record.Native == nil {
			text += "; its old table is " + u.Old.Quoted()
		}
		r.speaker.Note(text)
	}
	return err
}

// noCheckpoint is the error if no run of ours left what --revert needs. A run of that program itself may have.
func (r *Drive) noCheckpoint(ctx context.Context, s *session.Server, old schema.Name) error {
	theirs, there := r.asked.Table.Sibling(r.asked.sibling("_ghk")), 0
	err := s.Pool.DB().QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = "+
		schema.Literal(theirs.Schema)+" AND table_name = "+schema.Literal(theirs.Table)).Scan(&there)
	if err != nil {
		return speech.Unwritten(fmt.Errorf("look for %s: %w", theirs, err), "")
	}
	if there > 0 {
		return refused(
			fmt.Errorf("%s: %s is a checkpoint table of gh-ost itself, and Midstream did not compare %s",
				nothingKept, theirs.Quoted(), old.Quoted()),
			"revert that change with the gh-ost that made it",
		)
	}
	return refused(
		fmt.Errorf("%s: no run with --checkpoint has left %s for %s", nothingKept, old.Quoted(), r.asked.Table.Quoted()),
		"midstream undo  --list lists what can be taken back",
	)
}

func refused(err error, next string) error {
	return &session.Error{Outcome: session.Refused, Err: err, Left: "nothing was written", Next: next}
}

// Statement is for the undo of a statement on a complete table, which that program does not have.
func (r *Drive) Statement(_ context.Context, statement *ddl.Statement, _ *session.Server) (migration.Result, error) {
	return migration.Result{}, refused(
		fmt.Errorf("%s: the last statement on %s is a %s", nothingKept, r.asked.Table.Quoted(), statement.Kind),
		"midstream undo  "+r.asked.Table.Argument()+" takes it back",
	)
}

// dropKept drops, with --ok-to-drop-table, what the run has kept for another undo.
func (r *Drive) dropKept(ctx context.Context, s *session.Server, result migration.Result) error {
	if !r.asked.drops() || result.Undo == nil {
		return nil
	}
	if _, err := leftovers.EndUndo(ctx, s.Pool, result.Undo.Table, true); err != nil {
		return &session.Error{
			Outcome: session.Unremoved, Err: fmt.Errorf("--ok-to-drop-table: %w", err),
			Left: fmt.Sprintf("%s was altered; %s is kept", result.Undo.Table, result.Undo.Old),
			Next: "midstream undo  --end " + result.Undo.Table.Argument(),
		}
	}
	return nil
}

// keptText tells what a run has kept for --revert, how it is used, and how it goes; "" if it has kept nothing.
func (s *Speaker) keptText(u *leftovers.Undoable) string {
	if u == nil || s.asked.drops() {
		return ""
	}
	until, table := units.Minute(u.Record.Until), u.Table.Argument()
	what := "the change"
	if u.Record.Back {
		what = "the revert"
	}
	if u.Record.Native != nil {
		return fmt.Sprintf("# Kept until %s, to take the change back, which the server made itself: midstream undo  %s\n", until, table)
	}
	return fmt.Sprintf("# Kept until %s, to take back %s: the old table %s, its checkpoint, and the server's binlogs if it keeps them\n"+
		"# To revert: the same command with --revert --old-table=%s\n"+
		"# To give that up: midstream undo  --end %s, then drop table %s\n",
		until, what, u.Old.Quoted(), u.Old.Table, table, u.Old.Quoted())
}

// verbs are what a run does and has done, in that program's words.
func (a *Asked) verbs() (doing, done string) {
	if a.Reverts() {
		return "Reverting " + a.Table.Quoted() + " from " + a.Table.Sibling(a.shadow).Quoted(), "Done reverting " + a.Table.Quoted()
	}
	return "Migrating " + a.Table.Quoted(), "Done migrating " + a.Table.Quoted()
}
