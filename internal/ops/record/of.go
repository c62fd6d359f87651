package record

import (
	"cmp"
	"math"
	"time"

	"midstream/internal/engine/event"
)

// Names of the records' events.
const (
	NameRun         = "run"
	NamePlan        = "plan"
	NamePhase       = "phase"
	NameNote        = "note"
	NameProgress    = "progress"
	NameBlocked     = "blocked"
	NameKilled      = "killed"
	NameThrottled   = "throttled"
	NameControlled  = "controlled"
	NameLockAttempt = "lock_attempt"
	NamePrepared    = "prepared"
	NameSwapped     = "swapped"
	NameRetry       = "retry"
	NameMismatch    = "mismatch"
	NameVerified    = "verified"
	NameExplained   = "explained"
	NameSoak        = "soak"
	NameFinding     = "finding"
	NameUnfitFound  = "unfit_found"
	NameParked      = "parked"
	NamePrescanned  = "prescanned"
	NameResumed     = "resumed"
	NameDeadline    = "deadline"
	NameResult      = "result"
)

// RFC3339 is RFC 3339 with milliseconds.
const RFC3339 = "2006-01-02T15:04:05.000Z07:00"

// HeadOf is the head of a record.
func HeadOf(name string, at time.Time) Head { return Head{Event: name, At: at.UTC().Format(RFC3339)} }

// Of returns the record of an event; nil for those that are not told (single
// chunks: progress has their sum).
func Of(e event.Event) any {
	switch e := e.(type) {
	case event.PhaseEntered:
		return Phase{HeadOf(NamePhase, e.At), e.Undo, string(e.Phase)}
	case event.Note:
		return Note{HeadOf(NameNote, e.At), e.Text}
	case event.Resumed:
		return Resumed{HeadOf(NameResumed, e.At), e.Rows, e.Taken.UTC().Format(RFC3339), e.Text}
	case event.Progress:
		return progressOf(e)
	case event.Blocked:
		return Blocked{Head: HeadOf(NameBlocked, e.At), Run: e.Run, WaitingMS: MSOf(e.Waiting), Blockers: Blockers(e.Blockers)}
	case event.Killed:
		return Killed{HeadOf(NameKilled, e.At), BlockerOf(e.Blocker), MSOf(e.Waited)}
	case event.Throttled:
		return throttledOf(e)
	case event.Controlled:
		return Controlled{HeadOf(NameControlled, e.At), e.Command, e.By, e.Text, e.Refused}
	case event.LockAttempt:
		return LockAttempt{HeadOf(NameLockAttempt, e.At), e.Number, e.Granted, MSOf(e.Waited)}
	case event.Prepared:
		return Prepared{HeadOf(NamePrepared, e.At), e.Round, MSOf(e.Hold)}
	case event.SwapDone:
		return Swapped{HeadOf(NameSwapped, e.At), MSOf(e.LockHeld), e.Drained, e.Attempts, e.Position, e.GTID}
	case event.Mismatch:
		return Mismatch{HeadOf(NameMismatch, e.At), e.Key, e.Column, e.Expected, e.Found}
	case event.Verified:
		return Verified{
			HeadOf(NameVerified, e.At), e.Rows, e.LeftOut, e.Suspects, e.Repaired, e.Unproven, MSOf(e.Elapsed),
			append([]string{}, e.Uncompared...),
		}
	case event.Soak:
		return soakOf(e)
	case event.Explained:
		return explainedOf(e)
	case event.Finding:
		return findingOf(e)
	case event.UnfitFound:
		return UnfitFound{HeadOf(NameUnfitFound, e.At), e.Key, e.Cause}
	case event.Parked:
		return Parked{HeadOf(NameParked, e.At), e.Table, e.Rows, append([]string{}, e.Keys...), e.Values}
	case event.Prescanned:
		return Prescanned{HeadOf(NamePrescanned, e.At), e.Needed, e.Rows, e.Refused, MSOf(e.Elapsed)}
	case event.Deadline:
		return Deadline{HeadOf(NameDeadline, e.At), goalOf(e)}
	case event.Retry:
		return Retry{HeadOf(NameRetry, e.At), e.What, e.Cause}
	}
	return nil
}

func progressOf(e event.Progress) Progress {
	r := Progress{
		Head: HeadOf(NameProgress, e.At), Phase: string(e.Phase), ElapsedMS: MSOf(e.Elapsed),
		RowsCopied: e.RowsCopied, RowsTotal: e.RowsTotal, Fraction: math.Round(1e4*e.Fraction) / 1e4, CopyRowsPerS: tenths(e.CopyRate),
		ChunkRows: e.ChunkRows, Workers: hundredths(e.Workers),
		Statements: tenths(e.Statements), FeltMS: MSOf(e.StatementTime), FeltAloneMS: MSOf(e.StatementTimeAlone),
		Captured: e.Captured, Applied: e.Applied, Changed: e.Changed, Dropped: e.Dropped, Merged: e.Merged,
		Backlog: e.Backlog, BacklogLimit: e.BacklogLimit, ApplyKeysPerS: tenths(e.ApplyRate),
		CaptureDelayMS: MSOf(e.CaptureDelay), BinlogReadBytes: e.BinlogRead, BinlogPosition: e.Position,
		Retries: e.Retries, IndexFraction: e.IndexFraction, BuildStep: e.BuildStep, Verified: e.Verified, Scanned: e.Scanned,
	}
	if e.Slowdown >= 0 {
		slower := math.Round(1e4*e.Slowdown) / 1e4
		r.Slower = &slower
	}
	r.Deadline = goalOf(e.Deadline)
	r.ETAMS, r.ETALeastMS, r.ETAMostMS = knownMS(e.ETA), knownMS(e.ETALeast), knownMS(e.ETAMost)
	r.ReplicaLagMS = knownMS(e.ReplicaLag)
	if r.UnfitKeys = []string{}; e.Unfit != nil {
		rows := e.Unfit.Rows
		r.Unfit, r.UnfitKeys = &rows, append(r.UnfitKeys, e.Unfit.Keys...)
	}
	r.ComparedAt = knownTime(e.Compared)
	return r
}

// goalOf is empty if there is no deadline.
func goalOf(d event.Deadline) Goal {
	if d.By.IsZero() {
		return Goal{}
	}
	g := Goal{
		By: d.By.Format(RFC3339), State: cmp.Or(string(d.State), unknown), Limit: d.Limit, Factor: hundredths(d.Factor), Highest: d.Highest,
	}
	if !d.Expected.IsZero() {
		g.Expected = d.Expected.In(d.By.Location()).Format(RFC3339)
	}
	return g
}

// unknown is the text of event.DeadlineUnknown.
const unknown = "unknown"

// knownMS is nil where a duration is not known: it is negative.
func knownMS(d time.Duration) *MS {
	if d < 0 {
		return nil
	}
	known := MSOf(d)
	return &known
}

// knownTime is empty where a time is not known: it is zero.
func knownTime(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(RFC3339)
}

func throttledOf(e event.Throttled) Throttled {
	r := Throttled{Head: HeadOf(NameThrottled, e.At), Gates: []Gate{}}
	for _, g := range e.Gates {
		r.Gates = append(r.Gates, Gate{g.Name, g.Why, MSOf(e.At.Sub(g.Since))})
	}
	return r
}

func findingOf(e event.Finding) Finding {
	keys := append([]string{}, e.Keys...)
	return Finding{HeadOf(NameFinding, e.At), e.Kind, e.Name, e.What, e.Rows, e.AtLeast, keys, e.Query, e.Fix, e.Refused}
}

func tenths(f float64) float64     { return math.Round(10*f) / 10 }
func hundredths(f float64) float64 { return math.Round(100*f) / 100 }
