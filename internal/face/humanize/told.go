package humanize

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
)

// PhaseOf describes a phase as Phase does, or of an undo.
func PhaseOf(p event.Phase, undo bool) string {
	if undo {
		switch p {
		case event.PhaseShadow:
			return "prepare: taking the old table over"
		case event.PhasePrescan:
			return "prepare: checking that every row fits the definition that comes back"
		case event.PhaseStart:
			return "prepare: finding where the changes begin"
		case event.PhaseCopy:
			return "copy: bringing the old table up to date"
		case event.PhaseVerify:
			return "verify: comparing rows of both tables"
		case event.PhaseHold:
			return "cut over: following the table until the undo is released"
		case event.PhaseCleanup:
			return "clean up: keeping what the redo needs"
		}
	}
	return Phase(p)
}

// Phase describes a phase: its step, and what the run does in it.
func Phase(p event.Phase) string {
	switch p {
	case event.PhaseCheck:
		return "prepare: checking that no other run works on the table"
	case event.PhaseNative:
		return "server: the server changes the table itself"
	case event.PhaseShadow:
		return "prepare: creating the new table"
	case event.PhasePrescan:
		return "prepare: checking that every row fits the new schema"
	case event.PhaseStart:
		return "prepare: recording the binlog position"
	case event.PhaseCopy:
		return "copy: copying rows and applying changes"
	case event.PhaseIndex:
		return "indexes: building secondary indexes; changes are applied afterwards"
	case event.PhaseCatchUp:
		return "catch up: applying the last changes"
	case event.PhaseVerify:
		return "verify: comparing every row of both tables"
	case event.PhaseCutover:
		return "cut over: waiting until no session blocks the swap"
	case event.PhaseHold:
		return "cut over: on hold until an operator or the time window allows the swap"
	case event.PhaseLock:
		return "lock: rehearsing the lock of the cut-over"
	case event.PhaseRows:
		return "rows: changing rows in chunks, in the order of the key"
	case event.PhaseRecount:
		return "recount: counting the rows that match now"
	case event.PhaseCleanup:
		return "clean up: removing what the run created"
	case event.PhaseDone:
		return "done"
	}
	return escape.Line(string(p))
}

// Method names the method of a plan: "shadow" is "copy to a new table, then cut over".
func Method(name string) string {
	switch name {
	case "shadow":
		return "copy to a new table, then cut over"
	case "instant", "inplace":
		return strings.ToUpper(name)
	case "copy":
		return "COPY by the server"
	}
	return escape.Line(name)
}

// Step returns the step that a phase belongs to, as the texts of this package begin: "copy" for
// "copy: ...".
func Step(p event.Phase) string {
	step, _, _ := strings.Cut(Phase(p), ":")
	return step
}

// steps are those of a run that copies the table, in their order.
var steps = []string{"prepare", "copy", "indexes", "verify", "cut over"}

// Headline describes a phase as PhaseOf does, with the number of a numbered step: "2/5 copy: copying rows ...".
func Headline(p event.Phase, undo bool) string {
	text := PhaseOf(p, undo)
	step, rest, is := strings.Cut(text, ": ")
	if !is || !IsStep(step) {
		return text
	}
	return numbered(step) + ": " + rest
}

// IsStep reports whether a text that begins with this word and a colon belongs to a numbered step.
func IsStep(word string) bool { return slices.Contains(steps, word) }

// Numbered writes a step with its number, such as "2/5 copy", in columns of equal width.
// REQUIRES: IsStep.
func Numbered(step string) string {
	return fmt.Sprintf("%-12s", numbered(step))
}

func numbered(step string) string {
	return fmt.Sprintf("%d/%d %s", slices.Index(steps, step)+1, len(steps), step)
}

// Happening returns the text of an event other than progress and phase, "" if people do not need
// it, and whether a quiet display shows it.
func Happening(e event.Event) (at time.Time, text string, matters bool) {
	switch e := e.(type) {
	case event.Note:
		return e.At, escape.Line(e.Text), !e.Usual
	case event.Resumed:
		return e.At, escape.Line(e.Text), true
	case event.Blocked:
		return e.At, Blocked(e), true
	case event.Throttled:
		if len(e.Gates) == 0 {
			return e.At, "resumed", true
		}
		return e.At, Throttled(e), true
	case event.Controlled:
		return e.At, escape.Line(fmt.Sprintf("%s, by %s: %s", e.Command, e.By, e.Text)), true
	case event.Killed:
		return e.At, fmt.Sprintf("killed a session that blocked the swap for %s: %s", Age(e.Waited), Blocker(e.Blocker)), true
	case event.LockAttempt:
		if e.Granted {
			return e.At, fmt.Sprintf("cut over: lock attempt %d granted after %s", e.Number, Span(e.Waited)), false
		}
		return e.At, fmt.Sprintf("cut over: lock attempt %d not granted within %s, withdrawn", e.Number, Span(e.Waited)), false
	case event.Prepared:
		return e.At, fmt.Sprintf("prepared for round %d: the lock is given back %s after the request, unless a commit comes", e.Round, Span(e.Hold)), false
	case event.Soak:
		return e.At, Soak(e), len(e.Named) > 0
	case event.Explained:
		return e.At, Explained(e), len(e.Worse) > 0
	case event.Finding:
		return e.At, Finding(e), true
	case event.UnfitFound:
		return e.At, UnfitFound(e), true
	case event.Parked:
		return e.At, Parked(e), true
	case event.Prescanned:
		return e.At, Prescanned(e), false
	case event.Deadline:
		return e.At, Deadline(e, e.At), e.State == event.DeadlineBehind || e.State == event.DeadlineImpossible
	case event.Mismatch:
		return e.At, Mismatch(e), true
	case event.Verified:
		return e.At, Verified(e), false
	case event.SwapDone:
		return e.At, Swapped(e), false
	}
	return at, "", false
}

// Swapped reports a swap.
func Swapped(e event.SwapDone) string {
	text := "cut over: locked for " + Span(e.LockHeld)
	if e.Drained > 0 {
		text += ", " + Plural(e.Drained, "change") + " applied under the lock"
	}
	if e.Attempts == 1 {
		text += ", first attempt"
	} else {
		text = fmt.Sprintf("%s, attempt %d", text, e.Attempts)
	}
	if e.Position != "" {
		text += "; in the binlog, the new definition begins at " + e.Position
	}
	return text
}

// Finding reports rows that do not fit the new table. The SELECT stays on one line, so that it can be copied.
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
		fix := "fix:  " + escape.Line(e.Fix)
		if strings.HasPrefix(e.Fix, "ADD KEY") { // it gives up that values are unique
			fix = "fix:  change or delete all but one row of each value; without uniqueness: " + escape.Line(e.Fix)
		}
		text += indent + fix
	}
	return text
}

// Prescanned reports what the check of the rows found.
func Prescanned(e event.Prescanned) string {
	switch {
	case !e.Needed:
		return "prepare: no row needs a check: the definitions prove that every row fits"
	case e.Refused > 0:
		return fmt.Sprintf("prepare: %s found in %s", Plural(e.Refused, "problem"), Span(e.Elapsed))
	case e.Rows == 0:
		return "prepare: no duplicates, checked in " + Span(e.Elapsed)
	}
	return fmt.Sprintf("prepare: all of %s fit, checked in %s", Plural(e.Rows, "row"), Span(e.Elapsed))
}

// Mismatch reports a row that differs from what the ALTER makes of it.
func Mismatch(e event.Mismatch) string {
	if e.Column == "" {
		return escape.Line(fmt.Sprintf("mismatch: row %s is %s in the table, %s in the new one", e.Key, e.Expected, e.Found))
	}
	return escape.Line(
		fmt.Sprintf("mismatch: row %s, column %s should be %s, is %s in the new table", e.Key, e.Column, e.Expected, e.Found),
	)
}

// Verified reports the comparison.
func Verified(e event.Verified) string {
	text := fmt.Sprintf("verify: %s compared in %s, all equal", Plural(e.Rows, "row"), Span(e.Elapsed))
	switch {
	case e.Unfit == 1:
		text += " except 1 row that does not fit"
	case e.Unfit > 1:
		text += fmt.Sprintf(" except %s that do not fit", Plural(e.Unfit, "row"))
	}
	if e.LeftOut > 0 {
		text += fmt.Sprintf("; %s left out (--keep)", Plural(e.LeftOut, "row"))
	}
	if e.Repaired > 0 {
		text += fmt.Sprintf("; %s differed and %s synced again", Plural(e.Repaired, "row"), Was(e.Repaired))
	}
	if e.Unproven > 0 {
		text += fmt.Sprintf("; %s too often to compare: the run compares them under the lock", Plural(e.Unproven, "row")+" changed")
	}
	if len(e.Uncompared) > 0 {
		text += "; not compared: " + strings.Join(byReason(e.Uncompared), ", ")
	}
	return escape.Line(text)
}

// byReason joins what has the same reason: "a (why)" and "b (why)" become "a, b (why)".
func byReason(each []string) (joined []string) {
	var reasons []string
	for _, one := range each {
		name, why, has := strings.Cut(one, " (")
		at := slices.Index(reasons, why)
		if at < 0 || !has {
			joined, reasons = append(joined, one), append(reasons, why)
			continue
		}
		names, _ := strings.CutSuffix(joined[at], " ("+why)
		joined[at] = names + ", " + name + " (" + why
	}
	return joined
}

// Was returns "was" for 1, and otherwise "were".
func Was[N int | int64](n N) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// Throttled reports why the work waits.
func Throttled(e event.Throttled) string {
	var reasons []string
	for _, g := range e.Gates {
		reasons = append(reasons, g.Why)
	}
	return escape.Line("waiting: " + strings.Join(reasons, "; "))
}

// Progress writes the state of a run in one line. It leaves out what is zero.
func Progress(p event.Progress) string {
	var parts []string
	add := func(text string) { parts = append(parts, text) }
	of := func(fraction float64, n int64) {
		switch {
		case n > 0 || fraction >= 0.005:
			add(fmt.Sprintf("%s  %s of %s", Percent(fraction), Count(n), Count(p.RowsTotal)))
		case p.RowsTotal > 0:
			add("none of " + Count(p.RowsTotal) + " yet")
		}
	}
	rate := func(perSecond float64) {
		if text := PerSecond(perSecond); text != "" {
			add(text)
		}
	}
	gives := func() {
		if slower := Slower(p); slower != "" {
			add(slower)
		}
		if p.Workers > 0 && p.Workers < 1 {
			add("works " + Percent(p.Workers))
		}
	}
	follows := true
	switch p.Phase {
	case event.PhaseCopy:
		of(p.Fraction, p.RowsCopied)
		rate(p.CopyRate)
		add(ETA(p))
		gives()
	case event.PhaseRows:
		of(p.Fraction, p.Scanned)
		if p.RowsCopied > 0 {
			add(Count(p.RowsCopied) + " changed")
		}
		rate(p.CopyRate)
		add(ETA(p))
		gives()
		follows = false
	case event.PhasePrescan, event.PhaseRecount:
		of(ScannedFraction(p), p.Scanned)
		follows = false
	case event.PhaseIndex:
		add(Built(p))
		add(ETA(p))
	case event.PhaseNative:
		if p.BuildStep == "" {
			add("waiting until no session blocks the change")
		} else {
			add(Built(p))
		}
		add(Span(p.Elapsed) + " elapsed")
		follows = false
	case event.PhaseVerify:
		of(VerifiedFraction(p), p.Verified)
		add(ETA(p))
	case event.PhaseCatchUp, event.PhaseHold, event.PhaseCutover, event.PhaseLock:
		add(ETA(p))
	default:
		add(Span(p.Elapsed) + " elapsed")
		follows = false
	}
	if follows && p.Backlog > 0 {
		text := "backlog " + Count(p.Backlog)
		if rate := PerSecond(p.ApplyRate); rate != "" {
			text += " (" + rate + ")"
		}
		add(text)
	}
	if p.Unfit != nil && p.Unfit.Rows > 0 {
		add(Plural(p.Unfit.Rows, "row") + " unfit")
	}
	if p.Unfit != nil && p.Phase == event.PhaseHold {
		add(Compared(p.Compared, p.At))
	}
	if follows && p.CaptureDelay >= lateCapture {
		add("capture " + Span(p.CaptureDelay) + " behind")
	}
	return Step(p.Phase) + ": " + strings.Join(parts, "  ")
}

// lateCapture is the capture delay from which a line of progress shows it.
const lateCapture = time.Second

// Slower writes how much slower the application's statements are, or "" if that is not known.
func Slower(p event.Progress) string {
	if percent := 100 * p.Slowdown; p.Slowdown >= 0 && percent >= 0.5 {
		return fmt.Sprintf("app +%.0f %%", percent)
	}
	return ""
}

// Term is a short word of a line of progress.
type Term struct{ Word, Meaning string }

// Terms are the short words of Progress that need an explanation.
func Terms() []Term {
	return []Term{
		{"app", "by so much, the application's statements take longer because of the run"},
		{"works", "the part of its time that the row copy works; it rests so that the application does not wait, and by copy-share"},
		{"backlog", "rows that the application has changed, and that the run has still to apply; in parentheses, how many it applies"},
		{"capture", "how late the run reads changes from the binlog"},
	}
}

// Slowed writes what holds the row copy of a run back that works, for people; "" if nothing does.
func Slowed(p event.Progress) string {
	if p.Phase != event.PhaseCopy && p.Phase != event.PhaseRows || p.Workers <= 0 || p.Workers >= 1 {
		return ""
	}
	text := "the row copy works " + Percent(p.Workers) + " of its time, because the application needs the server"
	if p.Slowdown >= 0 {
		text += fmt.Sprintf(": its statements take %.0f %% longer", 100*p.Slowdown)
	}
	return text
}

// Built writes how far the server's own build is.
func Built(p event.Progress) string {
	text := escape.Line(cmp.Or(p.BuildStep, "building"))
	if p.IndexFraction > 0 {
		text += " " + Percent(p.IndexFraction)
	}
	return text
}

// Changes writes what became of the changes that a run has read from the binlog. It leaves out what is zero.
func Changes(captured, applied, dropped, merged int64, separator string) string {
	parts := []string{Plural(captured, "change") + " captured"}
	for _, c := range []struct {
		n    int64
		what string
	}{{applied, "applied"}, {dropped, "of rows not copied yet"}, {merged, "of the same rows"}} {
		if c.n > 0 {
			parts = append(parts, Count(c.n)+" "+c.what)
		}
	}
	return strings.Join(parts, separator)
}

// VerifiedFraction is the compared part of the rows.
func VerifiedFraction(p event.Progress) float64 {
	return min(1, float64(p.Verified)/float64(max(p.RowsTotal, 1)))
}

// ScannedFraction is the checked part of the rows.
func ScannedFraction(p event.Progress) float64 {
	return min(1, float64(p.Scanned)/float64(max(p.RowsTotal, 1)))
}

// ETA writes when the run ends, with the range, or when the backlog is empty.
func ETA(p event.Progress) string {
	switch p.Phase {
	case event.PhaseHold, event.PhaseCutover, event.PhaseLock:
		switch {
		case p.ETA < 0:
			return "time left unknown"
		case p.ETA < time.Second:
			return "all changes applied"
		}
		return "all changes applied in " + About(p.ETA)
	case event.PhaseCatchUp: // the run may wait for its lock, and is then not done
		if p.ETA >= 0 && p.ETA < time.Second {
			return "all changes applied"
		}
	}
	if p.ETA < 0 {
		return "time left unknown"
	}
	return "done in " + Left(p)
}

// A range is of no use if it is short, or if its ends are so far apart.
const shortRange, wideRange = 10 * time.Second, 10

// Left writes the time that is left with its range, such as "3 h 10 min (2 h 40 min to 4 h 5 min)".
func Left(p event.Progress) string {
	text, least, most := About(p.ETA), About(p.ETALeast), About(p.ETAMost)
	switch {
	case p.ETA < 0 || p.ETAMost <= shortRange || least == most:
		return text
	case p.ETAMost > wideRange*max(p.ETALeast, time.Second):
		return text + " (uncertain)"
	}
	return fmt.Sprintf("%s (%s to %s)", text, least, most)
}

// Logged is the text of an event in a log; "" for none.
func Logged(e event.Event) string {
	switch e := e.(type) {
	case event.PhaseEntered:
		return PhaseOf(e.Phase, e.Undo)
	case event.Progress:
		return Progress(e)
	case event.Retry:
		return "trying again: " + e.Cause
	}
	_, text, _ := Happening(e)
	return text
}
