package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/native"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/shadow"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// These errors end a run, in addition to the errors of the stages. After each of them the source is
// untouched.
var (

	// ErrNamesTaken means that other tables have all the names that the old table may get. The work
	// is kept: rename or drop one of these tables, and resume.
	ErrNamesTaken = errors.New("other tables have all the names that the old table may get")
	// ErrKeep, as the cause of a run's context, stops the run at a checkpoint. The same command
	// resumes from it.
	ErrKeep = errors.New("stopped at a checkpoint")
	// ErrGaveUp means that the server did not grant the lock of the cut-over within the allowed
	// time. The work is kept.
	ErrGaveUp = errors.New("the lock of the cut-over could not be had")
	// ErrLeftovers means that the run could not remove everything that it had created.
	ErrLeftovers = errors.New("not everything could be removed")
)

// AfterNewer is what to do after checkpoint.ErrNewer.
const AfterNewer = "Go on, or clean up, with the version of midstream that wrote it, or a later one."

// Failure is the error of Run: what failed, what is left on the server, and what to do.
type Failure struct {
	Phase event.Phase
	Err   error
	Left  string // things left on the server
	Next  string // what to do
	// Swapped reports whether the shadow had taken the source's place before the error.
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

// conclude turns the error of a run with ctx into a *Failure.
func (r *run) conclude(ctx context.Context, err error) error {
	if err == nil {
		r.enter(event.PhaseDone)
		return nil
	}
	f := &Failure{
		Phase:   r.account.phaseNow(),
		Err:     err,
		Swapped: r.debts.swapped,
		Lost:    errors.Is(err, cutover.ErrUnknown) || outside(err) && !errors.Is(err, native.ErrUnknown),
	}
	source := r.plan.Source.Name
	var untold *leftovers.Untold
	switch {
	case r.debts.half:
		f.Half = true
		split := r.plan.Choice.Split
		f.Left = fmt.Sprintf(
			"%s has the first part of its new schema (%s); the rest is not done, or not known to be.", source,
			split.First.Clauses,
		)
		f.Next = fmt.Sprintf(
			"Look at it with SHOW CREATE TABLE, and run the rest: midstream run %s",
			schema.Literal(split.Rest.Restore(source)),
		)
	case errors.Is(err, cutover.ErrUnknown):
		f.Left = fmt.Sprintf("%s is either as it was or swapped; %s, %s and %s were left alone.",
			source, r.debts.shadowName, r.old(), r.plan.Names.State)
		f.Next = SameCommand + ": it looks which, and goes on from there."
	case errors.Is(err, native.ErrUnknown):
		f.Left = fmt.Sprintf("%s either has its new schema or is as it was; nothing else is left on the server.", source)
		f.Next = fmt.Sprintf("Look which: SHOW CREATE TABLE %s.", source.Quoted())
	case errors.Is(err, leftovers.ErrUnsettled) && !r.debts.former:
		f.Left, f.Next = (carrier{r}).leftUnsettled()
	case errors.Is(err, leftovers.ErrSwapped):
		f.Swapped, f.Left = true, fmt.Sprintf(
			"%s has the schema that it wanted; its old table and %s may be left.", source, r.plan.Names.State,
		)
		f.Next = SameCommand + ": it does what that run had left to do."
	case errors.As(err, &untold), errors.Is(err, checkpoint.ErrNewer):
		f.Left = fmt.Sprintf("This run has not touched %s, and what an earlier run has left is as it was.", source)
		if f.Next = AfterNewer; untold != nil {
			f.Next = untold.Next()
		}
	case errors.Is(err, ErrStopped):
		f.Left = fmt.Sprintf("%s is untouched, and what that run has done is kept.", source)
		f.Next = fmt.Sprintf(
			"Let that run come to its end (give its command again), or give it up with: midstream cleanup %s; then say the same again.",
			source.Argument(),
		)
	case r.debts.former && !errors.Is(err, ErrOtherAlter) && !errors.Is(err, intake.ErrOtherCapture):
		f.Left = fmt.Sprintf("This run has not touched %s, and what an earlier run has left is as it was.", source)
		if len(r.debts.left) > 0 {
			f.Left = fmt.Sprintf(
				"This run has not touched %s. What an earlier run has left is still there, or a part of it: %s.",
				source, strings.Join(r.debts.left, ", "),
			)
		}
		f.Next = fmt.Sprintf(SameCommand+" once the cause is removed, or remove what is left with: midstream cleanup %s", source.Argument())
	case errors.Is(err, intake.ErrOtherCapture):
		f.Left = fmt.Sprintf("%s is untouched, and what that run has done is kept.", source)
		f.Next = fmt.Sprintf("Read changes from the same server as that run, or give it up with: midstream cleanup %s", source.Argument())
	case errors.Is(err, ErrOtherAlter):
		f.Left = fmt.Sprintf("%s is untouched, and what that run has done is kept.", source)
		f.Next = fmt.Sprintf("Go on with that ALTER, or give it up with: midstream cleanup %s", source.Argument())
	case r.debts.keep && r.debts.swapped:
		f.Left = fmt.Sprintf(
			"%s has its new schema on the server that the run was on; %s and %s are left there.", source, r.old(),
			r.plan.Names.State,
		)
		f.Next = SameCommand + ": on that server it does what is left to do, on one that has taken its place it goes on from what is there."
	case r.debts.keep:
		f.Kept = true
		f.Left = fmt.Sprintf("%s is untouched; %s and %s are kept.", source, r.debts.shadowName, r.plan.Names.State)
		f.Next = fmt.Sprintf(SameCommand+" to resume from where it stopped, or give it up with: midstream cleanup %s", source.Argument())
		if errors.Is(err, checkpoint.ErrReadOnly) || dbconn.ReadOnly(err) {
			f.Next = "Where another server is the primary now, connect to that one. " + f.Next
		}
	case errors.Is(err, ErrLeftovers):
		f.Left, f.Next = r.leftOver()
	default:
		f.Left = fmt.Sprintf("%s is untouched and nothing is left on the server.", source)
		f.Next = nextAfter(ctx, err)
	}
	return f
}

// leftOver returns what could not be removed, and the state of the table.
func (r *run) leftOver() (left, next string) {
	table, old := "is untouched", ""
	if r.debts.swapped {
		table = "has its new schema"
	}
	if slices.Contains(r.debts.left, r.old().String()) {
		old = "--old "
	}
	source := r.plan.Source.Name
	return fmt.Sprintf(
			"%s %s. Left on the server: %s.",
			source,
			table,
			strings.Join(r.debts.left, ", "),
		), fmt.Sprintf(
			"Remove it with: midstream cleanup %s%s", old, source.Argument(),
		)
}

// nextAfter returns what to do after an error that left nothing behind.
func nextAfter(ctx context.Context, err error) string {
	cause := context.Cause(ctx)
	switch {
	case cause != nil && errors.Is(err, cause):
		return SameCommand + " to start again."
	case errors.Is(err, intake.ErrNoHeartbeat):
		return SameCommand + " when the replica has caught up, or without --capture-from."
	case errors.Is(err, leftovers.ErrClaimed):
		return SameCommand + " when that run has ended."
	case errors.Is(err, intake.ErrStatementFormat):
		return "Have that session write in ROW format, then run the same command again."
	case errors.Is(err, lock.ErrWork):
		return "Raise --native-max-lock, for so long nobody can write, or see with --method=shadow what a shadow lacks."
	case errors.Is(err, lock.ErrGivenUp), errors.Is(err, lock.ErrTooLong):
		return SameCommand + " when fewer use the table."
	case errors.Is(err, intake.ErrSourceChanged), errors.Is(err, cutover.ErrSourceChanged), errors.Is(err, native.ErrChanged):
		return SameCommand + "; make sure that nobody alters the table meanwhile."
	case errors.Is(err, binlog.ErrPurged), errors.Is(err, binlog.ErrOtherServer), errors.Is(err, binlog.ErrIncident):
		return SameCommand + " to start again."
	case errors.Is(err, shadow.ErrRefused):
		return "Correct the statement."
	case errors.Is(err, ErrUnfit):
		return "Change the rows that are listed, or the ALTER. With --no-prescan a run would stop at the first of them."
	case errors.Is(err, rowsync.ErrDuplicate), dbconn.Duplicate(err):
		return "Remove the duplicates, or change the ALTER."
	case dbconn.ValueRefused(err):
		return "Change the row, or the ALTER."
	}
	return SameCommand + " once the cause is removed."
}

// cleanUp removes what the run created, whatever has happened before; it does not end
// with the run's context.
func (r *run) cleanUp() error {
	if !r.debts.begun || r.debts.keep {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var oldErr error
	if r.debts.swapped {
		r.enter(event.PhaseCleanup)
		if err := (carrier{r}).settleCarried(ctx, r.prepared.Load().unsettled); err != nil {
			return err
		}
		if r.cfg.DropOld {
			// The old table proves the swap to Finish; when it is gone this does.
			oldErr = leftovers.RetryBriefly(ctx, func() error { return r.prepared.Load().checkpoint(ctx) })
		}
		old := leftovers.Old{Pool: r.pool, Source: r.plan.Source.Name, Name: r.old()}
		if r.cfg.DropOld && oldErr == nil {
			oldErr = old.Drop(ctx)
		}
		if oldErr != nil {
			r.debts.left = append(r.debts.left, old.Name.String())
		}
		if !r.cfg.DropOld || oldErr != nil {
			old.Keep(ctx, r.plan.Source.Comment, r.debts.kept, r.live().Lock.Wait, r.note)
			r.debts.old = old.Name.Table
		}
	}
	if err := errors.Join(r.sweep(ctx), oldErr); err != nil {
		return fmt.Errorf("%w: %w", ErrLeftovers, err)
	}
	return nil
}

// sweep removes the artefacts, by the rules of Cleanup.
func (r *run) sweep(ctx context.Context) error {
	c := r.leftovers
	var found []leftovers.Table
	err := leftovers.RetryBriefly(ctx, func() (err error) {
		if err := r.pool.EndLost(ctx); dbconn.ConnectionLost(err) {
			return err // other errors don't block the check
		}
		if err := c.FixCarried(ctx, r.live().Lock.Wait, r.note, true); err != nil {
			return err
		}
		found, err = c.Find(ctx, false)
		return err
	})
	if err != nil {
		r.debts.left = []string{r.debts.shadowName.String(), r.plan.Names.State.String()}
		return err
	}
	var failed error
	for _, l := range found {
		if l.Name == r.debts.shadowName && !r.debts.shadow {
			continue // another session's, older than ours
		}
		if !c.GoesWithARun(l) {
			continue
		}
		if failed != nil && l.Name == r.plan.Names.State {
			r.debts.left = append(r.debts.left, l.Name.String()) // it names something not dropped
			continue
		}
		if err := leftovers.RetryBriefly(ctx, func() error { return c.Drop(ctx, l) }); err != nil {
			r.debts.left = append(r.debts.left, l.Name.String())
			failed = errors.Join(failed, fmt.Errorf("drop %s: %w", l.Name, err))
		}
	}
	return failed
}
