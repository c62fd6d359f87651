package failure

import (
	"context"
	"errors"
	"fmt"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/park"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/shadow"
	"midstream/internal/mysql/dbconn"
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

// NextAfter returns what to do after an error that left nothing behind.
func NextAfter(ctx context.Context, err error) string {
	cause := context.Cause(ctx)
	is := func(target error) bool { return errors.Is(err, target) }
	for _, after := range []struct {
		when bool
		next string
	}{
		{cause != nil && is(cause), "Run the same command to start again."},
		{is(intake.ErrNoHeartbeat), SameCommand + " when the replica has caught up, or without --capture-from."},
		{is(leftovers.ErrClaimed), SameCommand + " when that run has ended."},
		{is(intake.ErrStatementFormat), "Have that session write in ROW format, then run the same command again."},
		{is(lock.ErrWork), "Raise --native-max-lock (writes are blocked for that long), or see with --method=shadow why a shadow is refused."},
		{is(lock.ErrGivenUp) || is(lock.ErrTooLong), SameCommand + " when fewer sessions use the table."},
		{SourceChanged(err), SameCommand + "; make sure that no session alters the table during the run."},
		{BinlogLost(err), "Run the same command to start again."},
		{is(cutover.ErrIntoTaken), "Rename that table, then run the same command again."},
		{is(shadow.ErrRefused), "Correct the statement."},
		{is(park.ErrUnfit), "Change the rows that are listed; or --park copies them to a table of their own and goes back without them."},
		{is(ErrUnfit), "Change the rows that are listed, or the ALTER; or leave these rows out (--keep), or change their values (--set). With --no-prescan a run would stop at the first of them."},
		{is(rowsync.ErrDuplicate) || dbconn.Duplicate(err), "Remove the duplicates, or change the ALTER."},
		{dbconn.NoNumbersLeft(err), "Make the new AUTO_INCREMENT column BIGINT UNSIGNED: its numbers ran out, because each change of a row takes new ones."},
		{dbconn.ValueRefused(err), "Change the row, or the ALTER."},
		{dbconn.NoSuchDay(err), "Give the row a day that exists, or choose another key with --key: an expression of the table reads dates, so no day in the key may be an invalid one."},
	} {
		if after.when {
			return after.next
		}
	}
	return SameCommand + " once the cause is removed."
}
