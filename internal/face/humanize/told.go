package humanize

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
)

// Phase says what a phase does.
func Phase(p event.Phase) string {
	switch p {
	case event.PhaseCheck:
		return "check: making sure that no other run works on the table"
	case event.PhaseNative:
		return "native: the server changes the table itself"
	case event.PhaseShadow:
		return "shadow: creating and altering the shadow table"
	case event.PhasePrescan:
		return "prescan: looking for rows that the new table doesn't take"
	case event.PhaseStart:
		return "start: noting the binlog position"
	case event.PhaseCopy:
		return "copy: copying rows and applying changes"
	case event.PhaseIndex:
		return "index: building secondary indexes; changes are captured and applied afterwards"
	case event.PhaseCatchUp:
		return "catchup: bringing the backlog down, waiting until nobody is in the way"
	case event.PhaseVerify:
		return "verify: comparing every row of the new table with the old one's"
	case event.PhaseCutover:
		return "cutover: asking for the lock"
	case event.PhaseHold:
		return "hold: the table must not be changed yet"
	case event.PhaseLock:
		return "lock: asking for the lock of the cut-over, to give it back"
	case event.PhaseCleanup:
		return "cleanup: removing what the run created"
	case event.PhaseDone:
		return "done"
	}
	return escape.Line(string(p))
}

// Happening says what an event that is neither progress nor phase tells, "" if
// nothing that a person would want, and whether it matters to one who wants quiet.
func Happening(e event.Event) (at time.Time, text string, matters bool) {
	switch e := e.(type) {
	case event.Note:
		return e.At, escape.Line(e.Text), true
	case event.Resumed:
		return e.At, escape.Line(e.Text), true
	case event.Blocked:
		return e.At, Blocked(e), true
	case event.Throttled:
		if len(e.Gates) == 0 {
			return e.At, "going on", true
		}
		return e.At, Throttled(e), true
	case event.Controlled:
		return e.At, escape.Line(fmt.Sprintf("%s, by %s: %s", e.Command, e.By, e.Text)), true
	case event.Killed:
		return e.At, fmt.Sprintf("ended, as it was in the way for %s: %s", Span(e.Waited), Blocker(e.Blocker)), true
	case event.LockAttempt:
		if e.Granted {
			return e.At, fmt.Sprintf("lock attempt %d: granted after %s", e.Number, Span(e.Waited)), false
		}
		return e.At, fmt.Sprintf("lock attempt %d: not granted within %s, withdrawn", e.Number, Span(e.Waited)), false
	case event.Finding:
		return e.At, Finding(e), true
	case event.Prescanned:
		return e.At, Prescanned(e), false
	case event.Mismatch:
		return e.At, Mismatch(e), true
	case event.Verified:
		return e.At, Verified(e), false
	case event.SwapDone:
		return e.At, fmt.Sprintf("swapped: %s under the lock, %s applied under it, %s",
			Span(e.LockHeld), Plural(e.Drained, "key"), Plural(e.Attempts, "attempt")), false
	}
	return at, "", false
}

// Finding tells of rows that the new table doesn't take as they are. The SELECT stays on one
// line, to be copied.
func Finding(e event.Finding) string {
	const indent = "\n          "
	word := "loss"
	if e.Refused {
		word = "unfit"
	}
	rows := Plural(e.Rows, "row")
	if e.AtLeast {
		rows = "at least " + rows
	}
	text := fmt.Sprintf("%s: %s %s", word, rows, escape.Line(e.What))
	if len(e.Keys) > 0 {
		more := ""
		if e.AtLeast || e.Rows > int64(len(e.Keys)) {
			more = ", ..."
		}
		text += indent + "keys: " + escape.Line(strings.Join(e.Keys, "; ")) + more
	}
	text += indent + "list: " + escape.Line(e.Query)
	if e.Fix != "" {
		text += indent + "fix:  " + escape.Line(e.Fix)
	}
	return text
}

// Prescanned tells what the prescan has found.
func Prescanned(e event.Prescanned) string {
	switch {
	case !e.Needed:
		return "prescan: no row needs a look: the ALTER changes no value that may not fit, and adds no unique key"
	case e.Refused > 0:
		return fmt.Sprintf("prescan: %s, after %s", Plural(e.Refused, "problem"), Span(e.Elapsed))
	case e.Rows == 0:
		return fmt.Sprintf("prescan: no duplicates, after %s", Span(e.Elapsed))
	}
	return fmt.Sprintf("prescan: the new table takes all of %s, after %s", Plural(e.Rows, "row"), Span(e.Elapsed))
}

// Mismatch tells of a row that is not what it should be.
func Mismatch(e event.Mismatch) string {
	if e.Column == "" {
		return escape.Line(fmt.Sprintf("mismatch: row %s is %s in the table, %s in the new one", e.Key, e.Expected, e.Found))
	}
	return escape.Line(
		fmt.Sprintf("mismatch: row %s, column %s should be %s, is %s in the new table", e.Key, e.Column, e.Expected, e.Found),
	)
}

// Verified tells of the comparison.
func Verified(e event.Verified) string {
	text := fmt.Sprintf("verified: %s compared in %s, all equal", Plural(e.Rows, "row"), Span(e.Elapsed))
	if e.Repaired > 0 {
		text += fmt.Sprintf("; %s differed and %s synced anew", Plural(e.Repaired, "row"), Was(e.Repaired))
	}
	if e.Unproven > 0 {
		text += fmt.Sprintf("; %s too often to tell, to be compared under the lock", Plural(e.Unproven, "row")+" changed")
	}
	if len(e.Uncompared) > 0 {
		text += "; not compared: " + strings.Join(e.Uncompared, ", ")
	}
	return escape.Line(text)
}

// Was is the verb for so many.
func Was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// Throttled tells for what the work waits.
func Throttled(e event.Throttled) string {
	var reasons []string
	for _, g := range e.Gates {
		reasons = append(reasons, g.Why)
	}
	return escape.Line("waiting: " + strings.Join(reasons, "; "))
}

// Blocked tells who is in the way.
func Blocked(e event.Blocked) string {
	text := fmt.Sprintf("waiting for %s, for %s now:", Plural(len(e.Blockers), "blocker"), Span(e.Waiting))
	for _, b := range e.Blockers {
		text += "\n          " + Blocker(b)
	}
	if remedy := Remedy(e.Blockers); remedy != "" {
		text += "\n          " + remedy
	}
	return text
}

// brief is the age up to which a transaction is one of the application's that will end by
// itself: nobody is told to kill it.
const brief = 5 * time.Second

// Remedy says what an operator can do about blockers, or "" if they are to be waited for.
func Remedy(blockers []event.Blocker) string {
	var kills []string
	snapshot := false
	for _, b := range blockers {
		if b.Age < brief || b.Role == event.RoleReplication || b.Role == event.RoleMidstream {
			continue
		}
		kills = append(kills, fmt.Sprintf("KILL %d", b.ConnectionID))
		snapshot = snapshot || b.Snapshot
	}
	if len(kills) == 0 {
		return ""
	}
	text := "end what is in the way by " + strings.Join(kills, "; ") + ", or wait"
	if snapshot {
		text += ". A run with --old-snapshots=ignore would not wait for snapshots: after the swap such a transaction sees only a part " +
			"of the table's rows, without an error"
	}
	return text
}

// Blocker is one session, with what is needed to find it and to end it.
func Blocker(b event.Blocker) string {
	text := fmt.Sprintf("connection %d, %s@%s, %s for %s", b.ConnectionID, b.User, b.Host, b.Command, Span(b.Age))
	if b.Table != "" {
		text += ", on " + b.Table
	}
	text += ": " + b.Why
	if b.Lock != "" {
		text += " (" + b.Lock + ")"
	}
	if b.Role != "" {
		text += ", " + string(b.Role)
	}
	if b.Changed > 0 {
		text += ", " + Plural(b.Changed, "row") + " changed"
	}
	if b.Statement != "" {
		text += " [" + OneLine(b.Statement, 100) + "]"
	}
	return escape.Line(text)
}

// Progress is the state of a run in one line.
func Progress(p event.Progress) string {
	backlog := fmt.Sprintf("backlog %s, %s applied (%s/s), delay %s",
		Plural(p.Backlog, "key"), Count(p.Applied), Rate(p.ApplyRate), Span(p.CaptureDelay))
	switch p.Phase {
	case event.PhaseCopy:
		return fmt.Sprintf("copy %s: %s of about %s rows, %s rows/s%s; %s; %s",
			Percent(p.Fraction), Count(p.RowsCopied), Count(p.RowsTotal), Rate(p.CopyRate), Slower(p), backlog, ETA(p))
	case event.PhasePrescan:
		return fmt.Sprintf("prescan %s: %s of about %s rows", Percent(ScannedFraction(p)), Count(p.Scanned), Count(p.RowsTotal))
	case event.PhaseIndex:
		return Build("index", p) + "; " + backlog
	case event.PhaseNative:
		if p.BuildStep == "" {
			return "native: waiting until nobody is in the way; " + Span(p.Elapsed) + " elapsed"
		}
		return Build("native", p) + "; " + Span(p.Elapsed) + " elapsed"
	case event.PhaseVerify:
		return fmt.Sprintf(
			"verify %s: %s of about %s rows; %s", Percent(VerifiedFraction(p)), Count(p.Verified), Count(p.RowsTotal),
			backlog,
		)
	case event.PhaseCatchUp, event.PhaseHold, event.PhaseCutover, event.PhaseLock:
		return fmt.Sprintf("%s: %s; %s", p.Phase, backlog, ETA(p))
	}
	return fmt.Sprintf("%s: %s elapsed", p.Phase, Span(p.Elapsed))
}

// Slower is what the application feels; "" if that is not known.
func Slower(p event.Progress) string {
	if p.Slower < 0 {
		return ""
	}
	return fmt.Sprintf(" (%.2g workers; the application is %.1f %% slower)", p.Workers, 100*p.Slower)
}

// Build is how far the server says that it is.
func Build(phase string, p event.Progress) string {
	text := phase + ": " + escape.Line(cmp.Or(p.BuildStep, "building"))
	if p.IndexFraction > 0 {
		text += " " + Percent(p.IndexFraction)
	}
	return text
}

// VerifiedFraction is the part of the rows that is compared.
func VerifiedFraction(p event.Progress) float64 {
	return min(1, float64(p.Verified)/float64(max(p.RowsTotal, 1)))
}

// ScannedFraction is the part of the rows that was looked at.
func ScannedFraction(p event.Progress) float64 {
	return min(1, float64(p.Scanned)/float64(max(p.RowsTotal, 1)))
}

// ETA says what the prediction is of.
func ETA(p event.Progress) string {
	switch {
	case p.ETA < 0:
		return "end not known yet"
	case p.Phase == event.PhaseCopy:
		return "rows are copied in about " + About(p.ETA)
	case p.ETA < time.Second:
		return "caught up"
	}
	return "caught up in about " + About(p.ETA)
}
