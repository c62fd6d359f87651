package migration

import (
	"errors"
	"slices"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/native"
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
)

// The functions below are the classes of errors by which a run decides what to do.

// isAny reports whether the error is one of the targets.
func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// outside reports whether an error has its cause outside of the run: it could not reach the server,
// or the server could not continue.
func outside(err error) bool {
	return isAny(err, leftovers.ErrClaimLost, checkpoint.ErrReadOnly, intake.ErrCaptureUnfit,
		binlog.ErrConnection, binlog.ErrRefused, binlog.ErrOtherServer, dbconn.ErrOtherServer) ||
		dbconn.NotConnected(err) || dbconn.ConnectionLost(err) || dbconn.Exhausted(err) || dbconn.Unwilling(err)
}

// resumable reports whether another run may have to resume a run that ended with the error. Neither
// its task nor its findings ended that run.
func resumable(err error) bool {
	return isAny(err, checkpoint.ErrSuperseded, ErrNamesTaken, ErrKeep, cutover.ErrRelated, ErrGaveUp, throttle.ErrCritical) ||
		errors.Is(err, rowsync.ErrNullKey) || dbconn.NoSortMemory(err) || outside(err)
}

// WorthAnotherAttempt reports whether a failed attempt at the cut-over left everything unchanged,
// and another attempt may succeed.
func WorthAnotherAttempt(err error) bool {
	if isAny(err, cutover.ErrUnknown, leftovers.ErrUnsettled) {
		return false
	}
	return isAny(err, cutover.ErrNotGranted, cutover.ErrOverrun, cutover.ErrSlow, cutover.ErrNotDrained,
		cutover.ErrDisturbed, cutover.ErrNameTaken, park.ErrUnfit) || // follower.Fits decides about the last one
		dbconn.ConnectionLost(err) || dbconn.Contended(err) || dbconn.TornTriggers(err)
}

// worthAShadow reports whether the server's own method failed now and left the table unchanged, so
// that a shadow may succeed.
func worthAShadow(err error) bool {
	return isAny(err, lock.ErrGivenUp, lock.ErrWork) ||
		dbconn.Number(err) != 0 && !errors.Is(err, native.ErrUnknown) && !outside(err)
}

// sourceChanged reports whether another session altered the source.
func sourceChanged(err error) bool {
	return isAny(err, intake.ErrSourceChanged, cutover.ErrSourceChanged, native.ErrChanged)
}

// binlogLost reports whether the changes since the start can no longer be read.
func binlogLost(err error) bool {
	return isAny(err, binlog.ErrPurged, binlog.ErrOtherServer, binlog.ErrIncident)
}

// OnlyByAllRows reports whether a lazy undo has failed because the binlog does not show by keys what has happened to the
// table. An undo by all rows needs nothing of it.
func OnlyByAllRows(err error) bool {
	return sourceChanged(err) || binlogLost(err) ||
		isAny(err, intake.ErrNotByKeys, intake.ErrNotSince, intake.ErrStatementFormat, binlog.ErrSchemaDrift)
}
