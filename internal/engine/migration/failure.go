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
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/native"
	"midstream/internal/engine/park"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/shadow"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Failure is the error of Run: what failed, what is left on the server, and what to do.
type Failure struct {
	Phase event.Phase
	Err   error
	Left  string // things left on the server
	Next  string // what to do
	// Swapped reports whether the table was altered before the error, by the swap or by the server's
	// own statement.
	Swapped bool
	// Kept reports whether the work is kept, and the same command resumes it.
	Kept bool
	// Lost reports whether the server could not be reached, or could not continue. Once the server
	// is back, the same command may succeed.
	Lost bool
	// Half reports whether the first of two statements is done: the same command would run it
	// again.
	Half bool
}

// Error returns one line: the phase, the cause, what is left, and what to do.
func (f *Failure) Error() string {
	return fmt.Sprintf("%s: %v. %s %s", f.Phase, f.Err, f.Left, f.Next)
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// SameCommand is the text of Next if the same command resumes the run or begins it again. Within a
// sentence its first letter is lower case.
const SameCommand = "Run the same command again"

// AfterNewer is what to do after checkpoint.ErrNewer.
const AfterNewer = "Resume or clean up with the version of midstream that wrote it, or a later one."

// conclude turns the error of a run with ctx into a *Failure.
func (r *run) conclude(ctx context.Context, err error) error {
	if err == nil {
		r.enter(event.PhaseDone)
		return nil
	}
	f := &Failure{
		Phase:   r.account.phaseNow(),
		Err:     err,
		Swapped: r.debts.done,
		Half:    r.debts.half,
		Lost:    errors.Is(err, cutover.ErrUnknown) || outside(err) && !errors.Is(err, native.ErrUnknown),
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
	afterUntold := AfterNewer
	if errors.As(err, &untold) {
		afterUntold = untold.Next()
	}
	formerUnchanged := fmt.Sprintf("This run has not touched %s, and the earlier run's work is unchanged.", source)
	formerKept := fmt.Sprintf("%s is untouched, and the work of that run is kept.", source)
	cleanup := "midstream cleanup  " + source.Argument()

	return []ending{
		{when: debts.half, texts: r.halfDone},
		{when: is(cutover.ErrUnknown), texts: texts(
			fmt.Sprintf("%s is either unchanged or swapped; %s, %s and %s were not touched.", source, debts.shadowName, r.old(), state),
			SameCommand+": it checks which, and resumes from there.",
		)},
		{when: is(native.ErrUnknown), texts: texts(
			fmt.Sprintf("%s was altered or is unchanged; nothing else is left on the server.", source),
			fmt.Sprintf("Check with: SHOW CREATE TABLE %s.", source.Quoted()),
		)},
		{when: is(leftovers.ErrUnsettled) && !debts.former, texts: carrier{r}.leftUnsettled},
		{when: is(leftovers.ErrSwapped), swapped: true, texts: texts(
			fmt.Sprintf("%s was altered; its old table and %s may be left.", source, state),
			SameCommand+": it finishes the work of that run.",
		)},
		{when: untold != nil || is(checkpoint.ErrNewer), texts: texts(formerUnchanged, afterUntold)},
		{when: is(ErrStopped), texts: texts(formerKept, fmt.Sprintf(
			"Let that run finish (run its command again), or remove its work with: %s; then run this command again.", cleanup,
		))},
		{when: is(intake.ErrOtherCapture), texts: texts(formerKept,
			"Read changes from the same server as that run, or remove its work with: "+cleanup,
		)},
		{when: is(ErrOtherAlter), texts: texts(formerKept,
			"Resume that ALTER, or remove its work with: "+cleanup,
		)},
		{when: debts.former && len(debts.left) > 0, texts: texts(
			fmt.Sprintf("This run has not touched %s. The earlier run's work, or a part of it, is still left: %s.",
				source, strings.Join(debts.left, ", ")),
			SameCommand+" once the cause is removed, or remove what is left with: "+cleanup,
		)},
		{when: debts.former, texts: texts(formerUnchanged,
			SameCommand+" once the cause is removed, or remove what is left with: "+cleanup,
		)},
		{when: debts.keep && debts.done, texts: texts(
			fmt.Sprintf("%s was altered on the server that the run was on; %s and %s are left there.", source, r.old(), state),
			SameCommand+": on that server it finishes the work; on a server that has replaced it, it resumes from the tables there.",
		)},
		{when: debts.keep, kept: true, texts: texts(
			fmt.Sprintf("%s is untouched; %s and %s are kept.", source, debts.shadowName, state),
			onPrimary(err)+SameCommand+" to resume from where it stopped, or remove its work with: "+cleanup,
		)},
		{when: is(ErrLeftovers), texts: r.notRemoved},
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

// onPrimary returns what to do first if the server has become read-only.
func onPrimary(err error) string {
	if errors.Is(err, checkpoint.ErrReadOnly) || dbconn.ReadOnly(err) {
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
	if r.plan.Lazy() && (OnlyByAllRows(err) || isAny(err, intake.ErrOldWritten, ErrMismatch)) {
		return SameCommand + " with --cold: it looks at all rows."
	}
	return NextAfter(ctx, err)
}

// NextAfter returns what to do after an error that left nothing behind.
func NextAfter(ctx context.Context, err error) string {
	cause := context.Cause(ctx)
	is := func(target error) bool { return errors.Is(err, target) }
	for _, after := range []struct {
		when bool
		next string
	}{
		{cause != nil && is(cause), SameCommand + " to start again."},
		{is(intake.ErrNoHeartbeat), SameCommand + " when the replica has caught up, or without --capture-from."},
		{is(leftovers.ErrClaimed), SameCommand + " when that run has ended."},
		{is(intake.ErrStatementFormat), "Have that session write in ROW format, then run the same command again."},
		{is(lock.ErrWork), "Raise --native-max-lock (writes are blocked for that long), or see with --method=shadow why a shadow is refused."},
		{is(lock.ErrGivenUp) || is(lock.ErrTooLong), SameCommand + " when fewer sessions use the table."},
		{sourceChanged(err), SameCommand + "; make sure that no session alters the table during the run."},
		{binlogLost(err), SameCommand + " to start again."},
		{is(shadow.ErrRefused), "Correct the statement."},
		{is(park.ErrUnfit), "Change the rows that are listed; or --park copies them to a table of their own and goes back without them."},
		{is(ErrUnfit), "Change the rows that are listed, or the ALTER; or leave these rows out (--keep), or change their values (--set). With --no-prescan a run would stop at the first of them."},
		{is(rowsync.ErrDuplicate) || dbconn.Duplicate(err), "Remove the duplicates, or change the ALTER."},
		{dbconn.ValueRefused(err), "Change the row, or the ALTER."},
		{dbconn.NoSuchDay(err), "Give the row a day that exists, or choose another key with --key: an expression of the table reads dates, so no day in the key may be an invalid one."},
	} {
		if after.when {
			return after.next
		}
	}
	return SameCommand + " once the cause is removed."
}
