package forecast

import (
	"math"
	"time"

	"midstream/internal/engine/event"
)

// Standing is the state of a run.
type Standing struct {
	event.Progress
	// Idle means that the copy is paused, or waits for its window. Paused means that an operator
	// decides when it resumes.
	Idle, Paused bool
	// Verify is the time that the comparison of a row takes, as a multiple of copying it; 0 if the
	// rows are not compared.
	Verify float64
	// Index is the time of the build of deferred indexes.
	Index time.Duration
}

// Look is what is known about a run at one moment.
type Look struct {
	At time.Time
	// Done and Left are amounts of work that the limit paces, in the same unit.
	Done, Left float64
	// Unsure is the standard error of Left.
	Unsure float64
	// Fixed is the time of the other work that is left.
	Fixed time.Duration
	// Held means that the limit has not paced the work since the last look: the run was paused, or
	// did other work.
	Held bool
}

// The standard errors of the server's number of rows, and of the time of a comparison.
const (
	unsureRows   = 0.02
	unsureVerify = 0.3
)

// longestBacklog bounds the time of the backlog, whose rate may be near zero for a moment.
const longestBacklog = time.Hour

// Look returns what the standing is for a forecast. It counts in rows that are copied. before is the
// phase of the look before this one.
func (s Standing) Look(before event.Phase, now time.Time) Look {
	l := Look{At: now, Held: s.Idle || s.Phase != before}
	if s.Backlog > 0 && s.ApplyRate > 0 {
		l.Fixed += min(longestBacklog, time.Duration(float64(s.Backlog)/s.ApplyRate*float64(time.Second)))
	}
	total := float64(max(s.RowsTotal, s.RowsCopied))
	switch s.Phase {
	case event.PhaseCopy:
		l.Done = float64(s.RowsCopied)
		l.Left = total - l.Done + s.Verify*total
		l.Unsure = math.Hypot(unsureRows*total*(1+s.Verify), unsureVerify*s.Verify*total)
		l.Fixed += s.Index
	case event.PhaseIndex, event.PhaseCatchUp, event.PhaseVerify:
		if s.RowsCopied > 0 {
			total = float64(s.RowsCopied) // the number is known by now
		}
		verified := min(total, float64(s.Verified))
		l.Done, l.Left = total+s.Verify*verified, s.Verify*(total-verified)
		if s.Phase == event.PhaseIndex {
			l.Fixed += time.Duration(float64(s.Index) * (1 - s.IndexFraction))
		}
		if s.Phase != event.PhaseVerify {
			l.Unsure, l.Held = unsureVerify*l.Left, true
		}
	}
	return l
}
