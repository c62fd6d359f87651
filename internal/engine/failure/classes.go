package failure

import (
	"errors"
	"slices"

	"midstream/internal/engine/barrier"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/native"
	"midstream/internal/engine/parents"
	"midstream/internal/engine/park"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/throttle"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
)

// These errors end a run, in addition to the errors of the stages. After each of them the source is
// untouched; only ErrLeftovers may follow a swap.
var (
	// ErrNamesTaken means that other tables have all the names that the old table may get. The work
	// is kept: rename or drop one of these tables, and resume.
	ErrNamesTaken = errors.New("other tables have all the names that the old table may get")
	// ErrKeep, as the cause of a run's context, stops the run at a checkpoint. The same command
	// resumes from it.
	ErrKeep = errors.New("stopped at a checkpoint")
	// ErrGaveUp means that the server did not grant the lock of the cut-over within the allowed
	// time. The work is kept.
	ErrGaveUp = errors.New("the cut-over did not get its lock")
	// ErrLeftovers means that the run could not remove everything that it had created.
	ErrLeftovers = errors.New("not everything could be removed")
	// ErrUnfit means that the prescan has found rows that do not fit the altered table. The source is
	// untouched and nothing is left; change the rows, or the ALTER.
	ErrUnfit = errors.New("some rows don't fit the altered table")
	// ErrStopped means that the tables of an earlier run exist: it was stopped and may be resumed. A
	// check or a rehearsal can't be made until then. Nothing was done.
	ErrStopped = errors.New("an earlier run was stopped on this table, and its tables have the names that this run needs")
	// ErrOtherAlter means that an earlier run on the table was stopped, can be resumed, and was asked
	// for another ALTER. Nothing was done.
	ErrOtherAlter = errors.New("an earlier run of another change was stopped on this table")
	// ErrMismatch means that the shadow differs from the result of the ALTER on the source. The source
	// is untouched.
	ErrMismatch = errors.New("the shadow differs from the table")
)

// The functions below are the classes of errors by which a run decides what to do.

// IsAny reports whether the error is one of the targets.
func IsAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// Outside reports whether an error has its cause outside of the run: it could not reach the server,
// or the server could not continue.
func Outside(err error) bool {
	return IsAny(err, leftovers.ErrClaimLost, checkpoint.ErrReadOnly, intake.ErrCaptureUnfit,
		binlog.ErrConnection, binlog.ErrRefused, binlog.ErrOtherServer, dbconn.ErrOtherServer) ||
		dbconn.NotConnected(err) || dbconn.ConnectionLost(err) || dbconn.Exhausted(err) || dbconn.Unwilling(err)
}

// Resumable reports whether another run may have to resume a run that ended with the error. Neither
// its task nor its findings ended that run.
func Resumable(err error) bool {
	return IsAny(err, parents.ErrOrphans, checkpoint.ErrSuperseded, ErrNamesTaken, cutover.ErrIntoTaken,
		ErrKeep, cutover.ErrRelated, ErrGaveUp,
		throttle.ErrCritical, rowsync.ErrNullKey) || dbconn.NoSortMemory(err) || Outside(err)
}

// WorthAnotherAttempt reports whether a failed attempt at the cut-over left everything unchanged,
// and another attempt may succeed.
func WorthAnotherAttempt(err error) bool {
	if IsAny(err, cutover.ErrUnknown, leftovers.ErrUnsettled) {
		return false
	}
	return IsAny(err, barrier.ErrGivenBack, cutover.ErrNotGranted, cutover.ErrOverrun, cutover.ErrSlow, cutover.ErrNotDrained,
		cutover.ErrDisturbed, cutover.ErrNameTaken, parents.ErrHeld, park.ErrUnfit) || // follower.Fits decides about the last one
		dbconn.ConnectionLost(err) || dbconn.Contended(err) || dbconn.TornTriggers(err)
}

// WorthAShadow reports whether the server's own method failed now and left the table unchanged, so
// that a shadow may succeed.
func WorthAShadow(err error) bool {
	return IsAny(err, lock.ErrGivenUp, lock.ErrWork) ||
		dbconn.Number(err) != 0 && !errors.Is(err, native.ErrUnknown) && !Outside(err)
}

// SourceChanged reports whether another session altered the source.
func SourceChanged(err error) bool {
	return IsAny(err, intake.ErrSourceChanged, cutover.ErrSourceChanged, native.ErrChanged)
}

// BinlogLost reports whether the changes since the start can no longer be read.
func BinlogLost(err error) bool {
	return IsAny(err, binlog.ErrPurged, binlog.ErrOtherServer, binlog.ErrIncident)
}

// OnlyByAllRows reports whether a lazy undo has failed because the binlog does not show by keys what has happened to the
// table. An undo by all rows needs nothing of it.
func OnlyByAllRows(err error) bool {
	return SourceChanged(err) || BinlogLost(err) ||
		IsAny(err, intake.ErrNotByKeys, intake.ErrNotSince, intake.ErrStatementFormat, binlog.ErrSchemaDrift)
}
