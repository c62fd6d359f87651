package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"midstream/internal/event"
)

// names of the records' events.
const (
	namePlan        = "plan"
	namePhase       = "phase"
	nameNote        = "note"
	nameProgress    = "progress"
	nameBlocked     = "blocked"
	nameKilled      = "killed"
	nameThrottled   = "throttled"
	nameControlled  = "controlled"
	nameLockAttempt = "lock_attempt"
	nameSwapped     = "swapped"
	nameRetry       = "retry"
	nameMismatch    = "mismatch"
	nameVerified    = "verified"
	nameFinding     = "finding"
	namePrescanned  = "prescanned"
	nameResult      = "result"
)

// jsonLines writes one record a line.
type jsonLines struct {
	out io.Writer
	mu  sync.Mutex
}

func (j *jsonLines) write(record any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	encoder := json.NewEncoder(j.out) // ends the line
	encoder.SetEscapeHTML(false)
	// Nobody reads any more, or the disk is full: the migration goes on.
	_ = encoder.Encode(record)
}

func (j *jsonLines) show(e event.Event) {
	if record := recordOf(e); record != nil {
		j.write(record)
	}
}

func (j *jsonLines) close() {}

// abandon has nothing written any more: the result, which another writes, is the last line.
func (j *jsonLines) abandon() { quickly(j.mu.Lock) }

// rfc3339 is RFC 3339 with milliseconds.
const rfc3339 = "2006-01-02T15:04:05.000Z07:00"

func headOf(name string, at time.Time) head { return head{Event: name, At: at.UTC().Format(rfc3339)} }

// recordOf returns the record of an event; nil for those that are not told (single
// chunks: progress has their sum).
func recordOf(e event.Event) any {
	switch e := e.(type) {
	case event.PhaseEntered:
		return phaseRecord{headOf(namePhase, e.At), string(e.Phase)}
	case event.Note:
		return noteRecord{headOf(nameNote, e.At), e.Text}
	case event.Progress:
		return progressOf(e)
	case event.Blocked:
		return blockedRecord{head: headOf(nameBlocked, e.At), WaitingMS: msOf(e.Waiting), Blockers: blockerRecords(e.Blockers)}
	case event.Killed:
		return killedRecord{headOf(nameKilled, e.At), blockerRecordOf(e.Blocker), msOf(e.Waited)}
	case event.Throttled:
		return throttledOf(e)
	case event.Controlled:
		return controlledRecord{headOf(nameControlled, e.At), e.Command, e.By, e.Text, e.Refused}
	case event.LockAttempt:
		return lockAttemptRecord{headOf(nameLockAttempt, e.At), e.Number, e.Granted, msOf(e.Waited)}
	case event.SwapDone:
		return swappedRecord{headOf(nameSwapped, e.At), msOf(e.LockHeld), e.Drained, e.Attempts}
	case event.Mismatch:
		return mismatchRecord{headOf(nameMismatch, e.At), e.Key, e.Column, e.Expected, e.Found}
	case event.Verified:
		return verifiedRecord{headOf(nameVerified, e.At), e.Rows, e.Suspects, e.Repaired, e.Unproven, msOf(e.Elapsed)}
	case event.Finding:
		return findingOf(e)
	case event.Prescanned:
		return prescannedRecord{headOf(namePrescanned, e.At), e.Needed, e.Rows, e.Refused, msOf(e.Elapsed)}
	case event.Retry:
		return retryRecord{headOf(nameRetry, e.At), e.What, e.Cause}
	}
	return nil
}

func progressOf(e event.Progress) progressRecord {
	r := progressRecord{
		head: headOf(nameProgress, e.At), Phase: string(e.Phase), ElapsedMS: msOf(e.Elapsed),
		RowsCopied: e.RowsCopied, RowsTotal: e.RowsTotal, Fraction: math.Round(1e4*e.Fraction) / 1e4, CopyRowsPerS: tenths(e.CopyRate),
		ChunkRows: e.ChunkRows, Workers: hundredths(e.Workers),
		Captured: e.Captured, Applied: e.Applied, Dropped: e.Dropped, Merged: e.Merged,
		Backlog: e.Backlog, BacklogLimit: e.BacklogLimit, ApplyKeysPerS: tenths(e.ApplyRate),
		CaptureDelayMS: msOf(e.CaptureDelay), BinlogReadBytes: e.BinlogRead, BinlogPosition: e.Position,
		Retries: e.Retries, IndexFraction: e.IndexFraction, BuildStep: e.BuildStep, Verified: e.Verified, Scanned: e.Scanned,
	}
	if e.Slower >= 0 {
		slower := math.Round(1e4*e.Slower) / 1e4
		r.Slower = &slower
	}
	if e.ETA >= 0 {
		eta := msOf(e.ETA)
		r.ETAMS = &eta
	}
	return r
}

func throttledOf(e event.Throttled) throttledRecord {
	r := throttledRecord{head: headOf(nameThrottled, e.At), Gates: []gateRecord{}}
	for _, g := range e.Gates {
		r.Gates = append(r.Gates, gateRecord{g.Name, g.Why, msOf(e.At.Sub(g.Since))})
	}
	return r
}

func (r throttledRecord) event(at time.Time) event.Event {
	e := event.Throttled{At: at}
	for _, g := range r.Gates {
		e.Gates = append(e.Gates, event.Gate{Name: g.Name, Why: g.Why, Since: at.Add(-g.ForMS.duration())})
	}
	return e
}

func findingOf(e event.Finding) findingRecord {
	keys := append([]string{}, e.Keys...)
	return findingRecord{headOf(nameFinding, e.At), e.Kind, e.Name, e.What, e.Rows, e.AtLeast, keys, e.Query, e.Fix, e.Refused}
}

func tenths(f float64) float64     { return math.Round(10*f) / 10 }
func hundredths(f float64) float64 { return math.Round(100*f) / 100 }

// readRecord reads a line of another process's --json: an event, or the result.
func readRecord(line []byte) (event.Event, *resultRecord, error) {
	var h head
	if err := json.Unmarshal(line, &h); err != nil {
		return nil, nil, fmt.Errorf("read a line of --json: %w", err)
	}
	at, err := time.Parse(rfc3339, h.At)
	if err != nil {
		return nil, nil, fmt.Errorf("read a line of --json: %w", err)
	}
	switch h.Event {
	case namePhase:
		return into(line, func(r phaseRecord) event.Event { return event.PhaseEntered{Phase: event.Phase(r.Phase), At: at} })
	case nameNote:
		return into(line, func(r noteRecord) event.Event { return event.Note{Text: r.Text, At: at} })
	case nameProgress:
		return into(line, func(r progressRecord) event.Event { return r.event(at) })
	case nameBlocked:
		return into(line, func(r blockedRecord) event.Event { return r.event(at) })
	case nameKilled:
		return into(line, func(r killedRecord) event.Event {
			return event.Killed{Blocker: r.Blocker.blocker(), Waited: r.WaitedMS.duration(), At: at}
		})
	case nameThrottled:
		return into(line, func(r throttledRecord) event.Event { return r.event(at) })
	case nameControlled:
		return into(line, func(r controlledRecord) event.Event {
			return event.Controlled{Command: r.Command, By: r.By, Text: r.Text, Refused: r.Refused, At: at}
		})
	case nameLockAttempt:
		return into(line, func(r lockAttemptRecord) event.Event {
			return event.LockAttempt{Number: r.Number, Granted: r.Granted, Waited: r.WaitedMS.duration(), At: at}
		})
	case nameSwapped:
		return into(line, func(r swappedRecord) event.Event {
			return event.SwapDone{LockHeld: r.LockHeldMS.duration(), Drained: r.DrainedKeys, Attempts: r.Attempts, At: at}
		})
	case nameRetry:
		return into(line, func(r retryRecord) event.Event { return event.Retry{What: r.What, Cause: r.Cause, At: at} })
	case nameMismatch:
		return into(line, func(r mismatchRecord) event.Event {
			return event.Mismatch{Key: r.Key, Column: r.Column, Expected: r.Expected, Found: r.Found, At: at}
		})
	case nameVerified:
		return into(line, func(r verifiedRecord) event.Event {
			return event.Verified{Rows: r.Rows, Suspects: r.Suspects, Repaired: r.Repaired, Unproven: r.Unproven,
				Elapsed: r.ElapsedMS.duration(), At: at}
		})
	case nameFinding:
		return into(line, func(r findingRecord) event.Event {
			return event.Finding{Kind: r.Kind, Name: r.Name, What: r.What, Rows: r.Rows, AtLeast: r.AtLeast, Keys: r.Keys,
				Query: r.Query, Fix: r.Fix, Refused: r.Refused, At: at}
		})
	case namePrescanned:
		return into(line, func(r prescannedRecord) event.Event {
			return event.Prescanned{Needed: r.Needed, Rows: r.Rows, Refused: r.Refused, Elapsed: r.ElapsedMS.duration(), At: at}
		})
	case nameResult:
		var r resultRecord
		err := json.Unmarshal(line, &r)
		return nil, &r, err
	}
	return nil, nil, nil // a plan, or an event of a later version
}

func into[R any](line []byte, make func(R) event.Event) (event.Event, *resultRecord, error) {
	var r R
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, nil, fmt.Errorf("read a line of --json: %w", err)
	}
	return make(r), nil, nil
}

func (r progressRecord) event(at time.Time) event.Event {
	e := event.Progress{
		Phase: event.Phase(r.Phase), At: at, Elapsed: r.ElapsedMS.duration(),
		RowsCopied: r.RowsCopied, RowsTotal: r.RowsTotal, Fraction: r.Fraction, CopyRate: r.CopyRowsPerS,
		ChunkRows: r.ChunkRows, Workers: r.Workers, Slower: -1,
		Captured: r.Captured, Applied: r.Applied, Dropped: r.Dropped, Merged: r.Merged,
		Backlog: r.Backlog, BacklogLimit: r.BacklogLimit, ApplyRate: r.ApplyKeysPerS,
		CaptureDelay: r.CaptureDelayMS.duration(), BinlogRead: r.BinlogReadBytes, Position: r.BinlogPosition,
		ETA: -1, Retries: r.Retries, IndexFraction: r.IndexFraction, BuildStep: r.BuildStep, Verified: r.Verified, Scanned: r.Scanned,
	}
	if r.Slower != nil {
		e.Slower = *r.Slower
	}
	if r.ETAMS != nil {
		e.ETA = r.ETAMS.duration()
	}
	return e
}

func (r blockedRecord) event(at time.Time) event.Event {
	e := event.Blocked{Waiting: r.WaitingMS.duration(), At: at}
	for _, b := range r.Blockers {
		e.Blockers = append(e.Blockers, b.blocker())
	}
	return e
}
