package groups

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// ChangeStatus is the state of the runs of a change.
type ChangeStatus struct {
	socket.Status
	Tables []socket.Status `json:"tables" doc:"of a group: the status of the run of each table; the other fields are then about all tables: phase and state are those of the run whose turn it is, and progress has the sums. Otherwise empty"`
}

// status asks all runs. One that does not answer is left out if another one does: it begins or ends.
func (r Runs) status(ctx context.Context, answer any) error {
	var all []socket.Status
	var failed error
	for _, run := range r {
		var one socket.Status
		if err := run.Call(ctx, http.MethodGet, "status", nil, &one); err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return failed
	}
	*answer.(*ChangeStatus) = Of(all)
	return nil
}

// states are those in which an operator is asked for something, the most urgent first. A group is held as soon as one of its runs is,
// because all of them are ready then.
var states = []string{"stopped", "paused", "blocked", "prepared", "held"}

// turns are the phases in the order in which they stand for their group: first the swap, then those in which runs take turns, and then
// those in which they wait for each other.
var turns = []event.Phase{
	event.PhaseCutover, event.PhaseLock, event.PhaseShadow, event.PhasePrescan, event.PhaseNative, event.PhaseCopy, event.PhaseIndex,
	event.PhaseVerify, event.PhaseHold, event.PhaseCleanup, event.PhaseCatchUp, event.PhaseStart, event.PhaseCheck, event.PhaseDone,
}

// Of is the state of runs with these states.
func Of(all []socket.Status) ChangeStatus {
	if len(all) == 1 {
		return ChangeStatus{Status: all[0], Tables: []socket.Status{}}
	}
	order := func(s socket.Status) int {
		if at := slices.Index(states, s.State); at >= 0 {
			return at
		}
		if at := slices.Index(turns, event.Phase(s.Phase)); at >= 0 {
			return len(states) + at
		}
		return len(states) + len(turns)
	}
	now := slices.MinFunc(all, func(a, b socket.Status) int { return cmp.Compare(order(a), order(b)) })
	if now.Why != "" && now.State != "held" && slices.ContainsFunc(all, func(s socket.Status) bool { return s.State != now.State }) {
		now.Why = schema.NameOf(now.Table).String() + ": " + now.Why
	}
	now.About = all[0].About
	var progress []event.Progress
	for _, one := range all {
		now.Held, now.Command = cmp.Or(now.Held, one.Held), cmp.Or(now.Command, one.Command)
		if now.Blocked == nil {
			now.Blocked = one.Blocked
		}
		if p, is := record.EventOf(one.Progress).(event.Progress); is {
			progress = append(progress, p)
		}
	}
	if now.Progress = nil; len(progress) > 0 {
		now.Progress = record.Of(Sum(progress, event.Phase(now.Phase)))
	}
	return ChangeStatus{Status: now, Tables: all}
}

// Sum adds up the progress of the runs of a group that is in a phase.
func Sum(all []event.Progress, phase event.Phase) event.Progress {
	sum := all[0]
	if at := slices.IndexFunc(all, func(p event.Progress) bool { return p.Phase == phase }); at >= 0 {
		sum = all[at]
	}
	sum.Phase = phase
	done, unknown := 0., false
	for i, p := range all {
		if i == 0 {
			sum.RowsCopied, sum.RowsTotal, sum.CopyRate, sum.Captured, sum.Applied, sum.Dropped, sum.Merged = 0, 0, 0, 0, 0, 0, 0
			sum.Backlog, sum.BacklogLimit, sum.ApplyRate, sum.BinlogRead, sum.Retries, sum.Verified, sum.Scanned = 0, 0, 0, 0, 0, 0, 0
			sum.ETA, sum.ETALeast, sum.ETAMost, sum.Compared = 0, 0, 0, p.Compared
		}
		sum.RowsCopied, sum.RowsTotal, sum.CopyRate = sum.RowsCopied+p.RowsCopied, sum.RowsTotal+p.RowsTotal, sum.CopyRate+p.CopyRate
		sum.Captured, sum.Applied = sum.Captured+p.Captured, sum.Applied+p.Applied
		sum.Dropped, sum.Merged = sum.Dropped+p.Dropped, sum.Merged+p.Merged
		sum.Backlog, sum.BacklogLimit, sum.ApplyRate = sum.Backlog+p.Backlog, sum.BacklogLimit+p.BacklogLimit, sum.ApplyRate+p.ApplyRate
		sum.BinlogRead, sum.Retries = sum.BinlogRead+p.BinlogRead, sum.Retries+p.Retries
		sum.Verified, sum.Scanned = sum.Verified+p.Verified, sum.Scanned+p.Scanned
		sum.Elapsed, sum.CaptureDelay = max(sum.Elapsed, p.Elapsed), max(sum.CaptureDelay, p.CaptureDelay)
		sum.ReplicaLag, sum.Slowdown = max(sum.ReplicaLag, p.ReplicaLag), max(sum.Slowdown, p.Slowdown)
		sum.ETA, sum.ETALeast, sum.ETAMost = max(sum.ETA, p.ETA), max(sum.ETALeast, p.ETALeast), max(sum.ETAMost, p.ETAMost)
		done, unknown = done+p.Fraction*float64(p.RowsTotal), unknown || p.ETA < 0
		sum.At, sum.Compared = later(sum.At, p.At), earlier(sum.Compared, p.Compared)
	}
	if sum.Fraction = 0; sum.RowsTotal > 0 {
		sum.Fraction = min(1, done/float64(sum.RowsTotal))
	}
	if unknown { // the turn of a run has not come
		sum.ETA, sum.ETALeast, sum.ETAMost = -1, -1, -1
	}
	return sum
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// earlier is zero if one of them is: not all tables were compared then.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
