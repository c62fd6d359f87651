package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/native"
	"midstream/internal/engine/parents"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// conclude turns the error of a run with ctx into a *Failure.
func (r *run) conclude(ctx context.Context, err error) error {
	if err == nil {
		r.enter(event.PhaseDone)
		return nil
	}
	f := &failure.Failure{
		Phase:   r.account.phaseNow(),
		Err:     err,
		Swapped: r.debts.done,
		Half:    r.debts.half,
		Lost:    errors.Is(err, cutover.ErrUnknown) || failure.Outside(err) && !errors.Is(err, native.ErrUnknown),
	}
	for _, e := range r.endings(ctx, err) {
		if e.when {
			f.Left, f.Next = e.texts()
			f.Kept, f.Swapped = e.kept, f.Swapped || e.swapped
			break
		}
	}
	return f
}

// ending is one way in which a run fails.
type ending struct {
	when  bool
	texts func() (left, next string)
	kept  bool // Failure.Kept
	// swapped means that an earlier run had swapped the tables.
	swapped bool
}

// endings are all ways in which a run fails. The first that holds counts, and the last always holds. So the
// order is a rule: first what leaves the outcome of a statement unknown, then what concerns an earlier
// run's work, and then this run's work, which is kept, left or removed.
func (r *run) endings(ctx context.Context, err error) []ending {
	debts, source, state := r.debts, r.plan.Source.Name, r.plan.Names.State
	is := func(target error) bool { return errors.Is(err, target) }
	var untold *leftovers.Untold
	afterUntold := failure.AfterNewer
	if errors.As(err, &untold) {
		afterUntold = untold.Next()
	}
	formerUnchanged := fmt.Sprintf("This run has not touched %s, and the earlier run's work is unchanged.", source)
	formerKept := fmt.Sprintf("%s is untouched, and the work of that run is kept.", source)
	cleanup := "midstream cleanup  " + source.Argument()

	return []ending{
		{when: debts.half, texts: r.halfDone},
		{when: len(debts.helpers) > 0, texts: texts(leftovers.LeftHelpers(source, r.old(), state, debts.helpers))},
		{when: is(cutover.ErrUnknown), texts: texts(
			fmt.Sprintf("%s is either unchanged or swapped; %s, %s and %s were not touched.", source, debts.shadowName, r.old(), state),
			failure.SameCommand+": it checks which, and resumes from there.",
		)},
		{when: is(native.ErrUnknown), texts: texts(
			fmt.Sprintf("%s was altered or is unchanged; nothing else is left on the server.", source),
			fmt.Sprintf("Check with: SHOW CREATE TABLE %s.", source.Quoted()),
		)},
		{when: is(leftovers.ErrUnsettled) && !debts.former, texts: carrier{r}.leftUnsettled},
		{when: is(leftovers.ErrSwapped), swapped: true, texts: texts(
			fmt.Sprintf("%s was altered; its old table and %s may be left.", source, state),
			failure.SameCommand+": it finishes the work of that run.",
		)},
		{when: untold != nil || is(checkpoint.ErrNewer), texts: texts(formerUnchanged, afterUntold)},
		{when: is(failure.ErrStopped), texts: texts(formerKept, fmt.Sprintf(
			"Let that run finish (run its command again), or remove its work with: %s; then run this command again.", cleanup,
		))},
		{when: is(intake.ErrOtherCapture), texts: texts(formerKept,
			"Read changes from the same server as that run, or remove its work with: "+cleanup,
		)},
		{when: is(failure.ErrOtherAlter), texts: texts(formerKept,
			"Resume that ALTER, or remove its work with: "+cleanup,
		)},
		{when: debts.former && len(debts.left) > 0, texts: texts(
			fmt.Sprintf("This run has not touched %s. The earlier run's work, or a part of it, is still left: %s.",
				source, strings.Join(debts.left, ", ")),
			failure.SameCommand+" once the cause is removed, or remove what is left with: "+cleanup,
		)},
		{when: debts.former, texts: texts(formerUnchanged,
			failure.SameCommand+" once the cause is removed, or remove what is left with: "+cleanup,
		)},
		{when: debts.keep && debts.done, texts: texts(
			fmt.Sprintf("%s was altered on the server that the run was on; %s and %s are left there.", source, r.old(), state),
			failure.SameCommand+": on that server it finishes the work; on a server that has replaced it, it resumes from the tables there.",
		)},
		{when: debts.keep, kept: true, texts: texts(
			fmt.Sprintf("%s is untouched; %s and %s are kept.", source, debts.shadowName, state),
			firstDo(err)+failure.SameCommand+" to resume from where it stopped, or remove its work with: "+cleanup,
		)},
		{when: is(failure.ErrLeftovers), texts: r.notRemoved},
		{when: true, texts: texts(
			fmt.Sprintf("%s is untouched and nothing is left on the server.", source),
			r.nextAfter(ctx, err),
		)},
	}
}

// texts are the fixed texts of an ending.
func texts(left, next string) func() (string, string) {
	return func() (string, string) { return left, next }
}

// firstDo returns what to do before the same command.
func firstDo(err error) string {
	switch {
	case errors.Is(err, parents.ErrOrphans):
		return "Give the rows a parent, or delete them. "
	case errors.Is(err, checkpoint.ErrReadOnly), dbconn.ReadOnly(err):
		return "If another server is the primary now, connect to that one. "
	}
	return ""
}

// halfDone returns the texts if only the first of the server's own two statements is done.
func (r *run) halfDone() (left, next string) {
	source, split := r.plan.Source.Name, r.plan.Choice.Split
	return fmt.Sprintf("the first part of the ALTER of %s is done (%s); the rest is not, or its outcome is unknown.",
			source, split.First.Clauses),
		fmt.Sprintf("Check it with SHOW CREATE TABLE, and run the rest: midstream run  %s",
			schema.Literal(split.Rest.Restore(source)))
}

// notRemoved returns the texts if something could not be removed.
func (r *run) notRemoved() (left, next string) {
	table, old := "is untouched", ""
	if r.debts.done {
		table = "has its new schema"
	}
	if slices.Contains(r.debts.left, r.old().String()) {
		old = "--old "
	}
	source := r.plan.Source.Name
	return fmt.Sprintf("%s %s. Left on the server: %s.", source, table, strings.Join(r.debts.left, ", ")),
		fmt.Sprintf("Remove it with: midstream cleanup  %s%s", old, source.Argument())
}

// nextAfter is NextAfter for this run. A cold undo needs nothing of the time since the swap.
func (r *run) nextAfter(ctx context.Context, err error) string {
	if r.plan.Lazy() && (failure.OnlyByAllRows(err) || failure.IsAny(err, intake.ErrOldWritten, failure.ErrMismatch)) {
		return failure.SameCommand + " with --cold: it looks at all rows."
	}
	return failure.NextAfter(ctx, err)
}
