package exit

import (
	"context"
	"errors"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/native"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/engine/rowchange"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/session"
)

// Unplanned adds advice to an error of planning.
func Unplanned(ctx context.Context, err error) error {
	var failed *planning.Error
	if !errors.As(err, &failed) {
		return err // the plan refuses, or a calibration has failed
	}
	err, next := failed.Err, session.AdviceOnUndo(failed.Err, &failed.Table)
	switch failed.Step {
	case planning.ReachScratch:
		return unreachedScratch(ctx, err)
	case planning.AskServer:
		return Unasked(ctx, err, failed.Table)
	case planning.ReadReplica:
		next = "check that the replica runs, or leave out --capture-from"
	case planning.ReadTable:
		if next = KindAdvice(err); errors.Is(err, schema.ErrNotFound) {
			next = CheckName
		}
	}
	return Unwritten(ctx, err, next)
}

// Unasked is why the server has no answer.
func Unasked(ctx context.Context, err error, table schema.Name) error {
	switch {
	case errors.Is(err, native.ErrScratchLeft):
		return &Error{Code: Leftovers, Err: err, Left: "on the scratch server, a schema with empty tables; nothing on the server of the table", Next: "DROP DATABASE that schema there"}
	case errors.Is(err, native.ErrLeft):
		return &Error{Code: Leftovers, Err: err, Left: "an empty copy of " + table.String(), Next: "midstream cleanup  " + table.Argument()}
	case errors.Is(err, native.ErrRefused), errors.Is(err, native.ErrNoCopy):
		return &Error{Code: Refused, Err: err, Left: "nothing was written", Next: "correct the statement"}
	}
	return Unwritten(ctx, err, "")
}

// CheckName is what to do about a table that isn't there.
const CheckName = "check the table's name, and the account's privileges: SHOW GRANTS"

// KindAdvice is what to do where the name is no table's.
func KindAdvice(err error) string {
	var other *schema.OtherKind
	if errors.As(err, &other) {
		return other.Advice()
	}
	return ""
}

// Unwritten is an error from before anything was written.
func Unwritten(ctx context.Context, err error, next string) error {
	if InterruptedBy(ctx, err) {
		return session.ErrInterrupted
	}
	if errors.Is(err, checkpoint.ErrNewer) {
		next = failure.AfterNewer
	}
	return &Error{Code: Code(err, false), Err: err, Left: "nothing was written", Next: next}
}

// Unreachable says what to do about a connection that can't be had.
func Unreachable(ctx context.Context, err error) error {
	if InterruptedBy(ctx, err) {
		return session.ErrInterrupted
	}
	next := "try the same flags with mysql; midstream reads the same option files"
	switch {
	case errors.Is(err, dbconn.ErrPassword):
		next = "run the command of --password-command by itself; it must print the password and end with exit code 0"
	case dbconn.Denied(err):
		next = "check the account and its password (-p asks for it)"
	}
	return &Error{Code: Failed, Err: err, Left: "nothing was changed", Next: next}
}

// unreachedScratch is Unreachable for the scratch server of a plan.
func unreachedScratch(ctx context.Context, err error) error {
	if InterruptedBy(ctx, err) {
		return session.ErrInterrupted
	}
	next := "start the scratch server, or correct the address in the file of --scratch-defaults-file"
	if dbconn.Denied(err) {
		next = "check the account and its password in the file of --scratch-defaults-file"
	}
	return &Error{Code: Failed, Err: err, Left: "nothing was changed, on either server", Next: next}
}

// sessionCodes are the exit codes of what becomes of a session.
var sessionCodes = map[session.Outcome]int{
	session.Unusable: WrongUsage, session.Kept: Stopped, session.Removed: Aborted, session.Unremoved: Leftovers,
	session.Refused: Refused,
}

// Unheld is an error of a session with its exit code.
func Unheld(ctx context.Context, err error) error {
	var ended *session.Error
	var partly *session.Partly
	switch {
	case errors.As(err, &partly):
		partly.Err = Unheld(ctx, partly.Err)
		return partly
	case !errors.As(err, &ended):
		return err
	case ended.Outcome == session.Unread:
		return Unwritten(ctx, ended.Err, ended.Next)
	}
	return &Error{Code: sessionCodes[ended.Outcome], Err: ended.Err, Left: ended.Left, Next: ended.Next}
}

// InterruptedBy says that err is only the end of ctx, because the operator wants to stop.
func InterruptedBy(ctx context.Context, err error) bool {
	return errors.Is(context.Cause(ctx), session.ErrInterrupted) &&
		(errors.Is(err, context.Canceled) || errors.Is(err, session.ErrInterrupted))
}

// UnplannedRows is the error of a change of rows without a plan. p is what is known of the plan.
func UnplannedRows(ctx context.Context, err error, p *rowchange.Plan) error {
	var refused *plan.Refused
	switch {
	case errors.As(err, &refused):
		return err
	case errors.Is(err, ddl.ErrNotRowChange):
		return &Error{Code: Refused, Err: err, Left: "nothing was written", Next: "correct the statement"}
	case errors.Is(err, failure.ErrOtherAlter):
		next := "run that command again to resume it, or give its checkpoint up: midstream cleanup  " + p.Source.Name.Argument()
		return &Error{Code: Refused, Err: err, Left: "nothing was written, and the checkpoint of that run is unchanged", Next: next}
	case errors.Is(err, schema.ErrNotFound):
		return Unwritten(ctx, err, CheckName)
	}
	return Unwritten(ctx, err, KindAdvice(err))
}
