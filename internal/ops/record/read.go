package record

import (
	"encoding/json"
	"fmt"
	"time"

	"midstream/internal/engine/event"
)

// Read reads a line of another process's --json: an event, or the result.
func Read(line []byte) (event.Event, *Result, error) {
	var h Head
	if err := json.Unmarshal(line, &h); err != nil {
		return nil, nil, fmt.Errorf("read a line of --json: %w", err)
	}
	at, err := time.Parse(RFC3339, h.At)
	if err != nil {
		return nil, nil, fmt.Errorf("read a line of --json: %w", err)
	}
	switch h.Event {
	case NamePhase:
		return into(line, func(r Phase) event.Event {
			return event.PhaseEntered{Phase: event.Phase(r.Phase), At: at, Undo: r.Undo}
		})
	case NameNote:
		return into(line, func(r Note) event.Event { return event.Note{Text: r.Text, At: at} })
	case NameResumed:
		return into(line, func(r Resumed) event.Event {
			taken, _ := time.Parse(RFC3339, r.Taken) // none: a time that is before all others
			return event.Resumed{Rows: r.Rows, Taken: taken, Text: r.Text, At: at}
		})
	case NameProgress:
		return into(line, func(r Progress) event.Event { return r.event(at) })
	case NameBlocked:
		return into(line, func(r Blocked) event.Event { return r.event(at) })
	case NameKilled:
		return into(line, func(r Killed) event.Event {
			return event.Killed{Blocker: r.Blocker.Blocker(), Waited: r.WaitedMS.Duration(), At: at}
		})
	case NameThrottled:
		return into(line, func(r Throttled) event.Event { return r.event(at) })
	case NameControlled:
		return into(line, func(r Controlled) event.Event {
			return event.Controlled{Command: r.Command, By: r.By, Text: r.Text, Refused: r.Refused, At: at}
		})
	case NameLockAttempt:
		return into(line, func(r LockAttempt) event.Event {
			return event.LockAttempt{Number: r.Number, Granted: r.Granted, Waited: r.WaitedMS.Duration(), At: at}
		})
	case NamePrepared:
		return into(line, func(r Prepared) event.Event {
			return event.Prepared{Round: r.Round, Hold: r.HoldMS.Duration(), At: at}
		})
	case NameSwapped:
		return into(line, func(r Swapped) event.Event {
			return event.SwapDone{
				LockHeld: r.LockHeldMS.Duration(), Drained: r.DrainedKeys, Attempts: r.Attempts, At: at, Position: r.Position, GTID: r.GTID,
			}
		})
	case NameDeadline:
		return into(line, func(r Deadline) event.Event {
			e := r.Deadline.event()
			e.At = at
			return e
		})
	case NameRetry:
		return into(line, func(r Retry) event.Event { return event.Retry{What: r.What, Cause: r.Cause, At: at} })
	case NameMismatch:
		return into(line, func(r Mismatch) event.Event {
			return event.Mismatch{Key: r.Key, Column: r.Column, Expected: r.Expected, Found: r.Found, At: at}
		})
	case NameSoak:
		return into(line, func(r Soak) event.Event { return r.event(at) })
	case NameExplained:
		return into(line, func(r Explained) event.Event { return r.event(at) })
	case NameVerified:
		return into(line, func(r Verified) event.Event {
			return event.Verified{Rows: r.Rows, LeftOut: r.LeftOut, Suspects: r.Suspects, Repaired: r.Repaired, Unproven: r.Unproven,
				Uncompared: r.Uncompared, Elapsed: r.ElapsedMS.Duration(), At: at}
		})
	case NameFinding:
		return into(line, func(r Finding) event.Event { return r.Found() })
	case NameUnfitFound:
		return into(line, func(r UnfitFound) event.Event { return event.UnfitFound{Key: r.Key, Cause: r.Cause, At: at} })
	case NameParked:
		return into(line, func(r Parked) event.Event {
			return event.Parked{Table: r.Table, Rows: r.Rows, Keys: r.Keys, Values: r.Values, At: at}
		})
	case NamePrescanned:
		return into(line, func(r Prescanned) event.Event {
			return event.Prescanned{Needed: r.Needed, Rows: r.Rows, Refused: r.Refused, Elapsed: r.ElapsedMS.Duration(), At: at}
		})
	case NameResult:
		var r Result
		err := json.Unmarshal(line, &r)
		return nil, &r, err
	}
	return nil, nil, nil // a plan, or an event of a later version
}

// EventOf is the event of a record that has come through JSON, as a part of a status; nil for none,
// and for another version's.
func EventOf(told any) event.Event {
	if told == nil {
		return nil
	}
	line, err := json.Marshal(told)
	if err != nil {
		return nil
	}
	e, _, err := Read(line)
	if err != nil {
		return nil
	}
	return e
}

// Found is the event of a finding.
func (r Finding) Found() event.Finding {
	return event.Finding{Kind: r.Kind, Name: r.Name, What: r.What, Rows: r.Rows, AtLeast: r.AtLeast, Keys: r.Keys,
		Query: r.Query, Fix: r.Fix, Refused: r.Refused, At: r.Time()}
}

// At is the time of a record; zero if it has none.
func At(line []byte) time.Time {
	var head Head
	_ = json.Unmarshal(line, &head) // then it has none
	return head.Time()
}

func into[R any](line []byte, make func(R) event.Event) (event.Event, *Result, error) {
	var r R
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, nil, fmt.Errorf("read a line of --json: %w", err)
	}
	return make(r), nil, nil
}

func (r Progress) event(at time.Time) event.Event {
	e := event.Progress{
		Phase:              event.Phase(r.Phase),
		At:                 at,
		Elapsed:            r.ElapsedMS.Duration(),
		RowsCopied:         r.RowsCopied,
		RowsTotal:          r.RowsTotal,
		Fraction:           r.Fraction,
		CopyRate:           r.CopyRowsPerS,
		ChunkRows:          r.ChunkRows,
		Workers:            r.Workers,
		Slowdown:           -1,
		Statements:         r.Statements,
		StatementTime:      r.FeltMS.Duration(),
		StatementTimeAlone: r.FeltAloneMS.Duration(),
		ReplicaLag:         knownDuration(r.ReplicaLagMS),
		Captured:           r.Captured,
		Applied:            r.Applied,
		Changed:            r.Changed,
		Dropped:            r.Dropped,
		Merged:             r.Merged,
		Backlog:            r.Backlog,
		BacklogLimit:       r.BacklogLimit,
		ApplyRate:          r.ApplyKeysPerS,
		CaptureDelay:       r.CaptureDelayMS.Duration(),
		BinlogRead:         r.BinlogReadBytes,
		Position:           r.BinlogPosition,
		ETA:                knownDuration(r.ETAMS),
		ETALeast:           knownDuration(r.ETALeastMS),
		ETAMost:            knownDuration(r.ETAMostMS),
		Retries:            r.Retries,
		IndexFraction:      r.IndexFraction,
		BuildStep:          r.BuildStep,
		Verified:           r.Verified,
		Scanned:            r.Scanned,
	}
	e.Deadline = r.Deadline.event()
	if r.Unfit != nil {
		e.Unfit = &event.Unfit{Rows: *r.Unfit, Keys: r.UnfitKeys}
	}
	e.Compared, _ = time.Parse(RFC3339, r.ComparedAt) // none: not compared
	if r.Slower != nil {
		e.Slowdown = *r.Slower
	}
	return e
}

func (g Goal) event() event.Deadline {
	e := event.Deadline{State: event.DeadlineState(g.State), Limit: g.Limit, Factor: g.Factor, Highest: g.Highest}
	if g.State == unknown {
		e.State = event.DeadlineUnknown
	}
	e.By, _ = time.Parse(RFC3339, g.By) // none: there is no deadline
	e.Expected, _ = time.Parse(RFC3339, g.Expected)
	return e
}

// knownDuration is negative where it is not known.
func knownDuration(ms *MS) time.Duration {
	if ms == nil {
		return -1
	}
	return ms.Duration()
}

func (r Blocked) event(at time.Time) event.Event {
	e := event.Blocked{Run: r.Run, Waiting: r.WaitingMS.Duration(), At: at}
	for _, b := range r.Blockers {
		e.Blockers = append(e.Blockers, b.Blocker())
	}
	return e
}

func (r Throttled) event(at time.Time) event.Event {
	e := event.Throttled{At: at}
	for _, g := range r.Gates {
		e.Gates = append(e.Gates, event.Gate{Name: g.Name, Why: g.Why, Since: at.Add(-g.ForMS.Duration())})
	}
	return e
}
