package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/units"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
	"midstream/internal/ops/undos"
)

// OfTended reports the undo that was ended, or lists the changes that can be undone.
func OfTended(t session.Tended, address string, style Style, quiet bool) string {
	only := t.Only
	if !quiet && t.Unseen != "" {
		s := newSheet(style)
		s.heading("The account sees no change on %s that can be undone. It lacks %s, so it may not see all of them", escape.Line(address), escape.Line(t.Unseen))
		return s.String()
	}
	if quiet || only == nil || t.Ended == nil && len(t.Undos) > 0 {
		return OfUndoables(t.Undos, address, style, quiet)
	}
	s := newSheet(style)
	if t.Ended == nil {
		why := ""
		if t.None != nil {
			why = strings.TrimPrefix(strings.TrimPrefix(t.None.Error(), leftovers.ErrNoUndo.Error()), ": ")
		}
		if why = cmp.Or(why, "nothing was kept for that"); !strings.HasSuffix(why, "?") {
			why += "."
		}
		s.heading("The last change of %s on %s cannot be undone: %s To keep the next one undoable: "+
			"midstream run  --undo=24h \"ALTER TABLE ...\"", *only, escape.Line(address), escape.Line(why))
		return s.String()
	}
	ofEnded(s, *t.Ended, address)
	for _, other := range t.Ended.With {
		ofEnded(s, other, address)
	}
	return s.String()
}

// ofEnded reports the undo of one table that was ended.
func ofEnded(s *sheet, e leftovers.EndedUndo, address string) {
	s.heading("Done: gave up the undo of the last change of %s on %s.", e.Table, escape.Line(address))
	if k := e.Killed; k != nil {
		s.line("Killed run", "%s: %s", escape.Line(k.What()),
			map[bool]string{true: "the server had done it", false: "its statement was ended, and the table is unchanged"}[k.Made])
	}
	s.line("Dropped", "%s", schema.List(e.Dropped))
	if e.Old != (schema.Name{}) {
		with := ""
		if e.Rows != "" {
			with = ", with its rows"
		}
		if e.Rest {
			s.line("Kept", "%s, which is yours: no other table has the rows that --keep had left out", e.Old)
		} else {
			s.line("Kept", "%s%s. To drop it: midstream cleanup  --old %s", e.Old, with, e.Table.Argument())
		}
		if e.Rows != "" {
			s.line("Rows", "%s", e.Rows)
		}
	}
	if e.Values != (schema.Name{}) {
		s.line("Kept", "%s, with values of dropped columns: midstream undo  --cold %s takes them from there. It goes with the old table", e.Values,
			e.Table.Argument())
	}
	for i, p := range e.Parked {
		s.line(map[bool]string{true: "Set aside"}[i == 0], "%s. No command of Midstream drops it. Once you do not need it: DROP TABLE %s", parked(p, e.Table), p.Table.Quoted())
	}
}

// parked describes a table with rows that undos of a source have set aside.
func parked(p leftovers.Parked, source schema.Name) string {
	rows := humanize.Plural(p.Rows, "row")
	switch {
	case p.Values:
		return fmt.Sprintf("%s: values that dropped columns had in rows that were set aside (%s)", p.Table, rows)
	case p.Rows == 0:
		return p.Table.String() + ": no rows"
	case p.Copies() && p.Rows == 1:
		return fmt.Sprintf("%s: %s, which is back in %s", p.Table, rows, source)
	case p.Copies():
		return fmt.Sprintf("%s: %s, all of which are back in %s", p.Table, rows, source)
	case p.Apart != nil && p.Rows == 1:
		return fmt.Sprintf("%s: %s, which %s does not have, or has with other values", p.Table, rows, source)
	case p.Apart != nil:
		return fmt.Sprintf("%s: %s, %d of which %s does not have, or has with other values", p.Table, rows, *p.Apart, source)
	case p.Missing != nil && *p.Missing == 0:
		return fmt.Sprintf("%s: %s; %s has equal rows, compared by the columns that both tables have", p.Table, rows, source)
	case p.Missing != nil && p.Rows == 1:
		return fmt.Sprintf("%s: %s, which %s does not have, or has with other values", p.Table, rows, source)
	case p.Missing != nil:
		least := ""
		if *p.Missing < p.Rows {
			least = "at least "
		}
		return fmt.Sprintf("%s: %s, %s%d of which %s does not have, or has with other values", p.Table, rows, least, *p.Missing, source)
	}
	return fmt.Sprintf("%s: %s", p.Table, rows)
}

// parkedIn is parked with what becomes of the table.
func parkedIn(p leftovers.Parked, u leftovers.Undoable) string {
	text := parked(p, u.Table)
	switch {
	case p.Values && (u.State != leftovers.UndoEnded || u.Late):
		return text + "; an undo after the redo takes them from there"
	case p.Values && u.Record.Rebuilt && u.Record.Values == p.Table.Table:
		return text + "; a cold undo takes them from there"
	case p.Copies(), p.Rows == 0:
		return fmt.Sprintf("%s; nothing needs this table: DROP TABLE %s", text, p.Table.Quoted())
	case u.Record.Back && u.SetAside:
		return text + "; the redo brings the rows of the last undo back into the table, but not if it syncs all rows (--cold)"
	case u.Record.Back && u.Record.Ledger != nil:
		return text + "; the redo does not bring them back"
	}
	return text
}

// briefUndoables lists table, state, end, mode and unfit rows, - for not checked, and whether it is an undo or a redo.
func briefUndoables(all []undos.Standing) string {
	var b strings.Builder
	for _, s := range all {
		state, mode, unfit := s.Kept.State, s.Kept.Record.Mode, "-"
		if s.Follows() {
			state, mode, unfit = leftovers.UndoOpen, "warm", strconv.FormatInt(s.Follower.Unfit, 10)
		}
		until := "-"
		if !s.Kept.Record.Until.IsZero() && state != leftovers.UndoRevoked {
			until = s.Kept.Record.Until.Format(time.RFC3339)
		}
		fmt.Fprintf(&b, "%s %s %s %s %s %s\n", s.Kept.Table.Argument(), state, until, cmp.Or(mode, "-"), unfit, plan.UndoWord(s.Kept.Record.Back))
	}
	return b.String()
}

// modeOf is what an undo would do.
func modeOf(s undos.Standing) string {
	switch {
	case s.Follows():
		return "a process follows, and is " + humanize.Span(s.Follower.Behind) + " behind (warm)"
	case s.Kept.Record.Ledger != nil:
		if s.Kept.Record.Back {
			return "a RENAME makes the change again"
		}
		return "a RENAME takes the change back"
	case s.Kept.Record.Mode == plan.UndoNative:
		return "the server alters the table back (native)"
	case s.Kept.State == leftovers.UndoOpen && s.Kept.Record.Mode != plan.UndoCold:
		return anUndo(s.Kept.Record.Back) + " syncs the rows that have changed since the swap (lazy)"
	}
	return anUndo(s.Kept.Record.Back) + " syncs all rows (cold)"
}

// unfitOf is what is known of rows that the old definition refuses; "" if there can be none.
func unfitOf(s undos.Standing) string {
	switch {
	case s.Follows() && s.Follower.Unfit > 0:
		return fmt.Sprintf("%s, %s; change them, or take the change back with --park", escape.Line(Unfit(s.Follower.Unfit, s.Follower.Keys)),
			comparedBy(s.Follower))
	case s.Follows():
		return "none, " + comparedBy(s.Follower)
	case !s.MayRefuse():
		return ""
	}
	return "not checked"
}

// comparedBy says when a follower last compared the tables.
func comparedBy(f *followers.Standing) string {
	var at time.Time
	if f.Compared != nil {
		at = *f.Compared
	}
	return humanize.Compared(at, time.Now())
}

// NextForUndo is what to do about a change that can be undone, or could be.
func NextForUndo(u leftovers.Undoable) string {
	table := u.Table.Argument()
	if u.OnlyRows != "" {
		return u.OnlyRows
	}
	if u.Several {
		table = "--shadow-name=" + schema.Shell(u.Record.Old) + " " + table
	}
	if u.Barred {
		return fmt.Sprintf("midstream undo  %s prints what must be changed first; midstream undo  --end %[1]s gives the undo up", table)
	}
	switch u.State {
	case leftovers.UndoOpen:
		if u.Record.Back {
			return fmt.Sprintf("midstream undo  %s is the redo: it makes the change again", table)
		}
		if u.Written {
			return fmt.Sprintf("rows were written since, so an undo without a flag is refused: midstream undo  --merge --park %s takes over the rows "+
				"whose keys are free, and keeps the others in %s", table, plan.ParkedNames(u.Table)[0])
		}
		return fmt.Sprintf("midstream undo  %s takes it back", table)
	case leftovers.UndoRevoked:
		if len(u.Together) > 0 {
			return fmt.Sprintf("midstream undo  %s takes them back, by all rows where it must, as long as the old tables exist", table)
		}
		return fmt.Sprintf("midstream undo  --cold %s takes it back, by all rows, as long as %s exists", table, u.Old)
	case leftovers.UndoRunning:
		return fmt.Sprintf("wait until it has ended; midstream status  %s shows it on the machine where it works", table)
	case leftovers.UndoStopped:
		resume := record.ResumeOf(u)
		switch {
		case resume == "":
			return fmt.Sprintf("give the command that was killed again: it completes its work (%s); midstream cleanup  %s gives it up",
				escape.Line(ddl.Shorten(u.Alter)), table)
		case u.Followed:
			return againOrGivenUp(resume, record.InsteadOf(u.Again, u.Table), table)
		}
		return againOrGivenUp(resume, "", table)
	}
	if u.Record.Rebuilt {
		return fmt.Sprintf("midstream undo  --cold %s takes it back, by all rows", table)
	}
	if u.Late {
		return fmt.Sprintf("midstream undo  %s still takes it back; midstream undo  --end %[1]s removes what is left", table)
	}
	return fmt.Sprintf("midstream undo  --end %s removes what is left", table)
}

func anUndo(back bool) string {
	if back {
		return "the redo"
	}
	return "an undo"
}

func changeOrUndo(back bool) string {
	if back {
		return "undo"
	}
	return "change"
}

// leftUndo is the undo that a run has left; "" if it has none, or its time is over.
func leftUndo(last *history.Entry, now time.Time) string {
	if last == nil || last.Result.Undo == nil || last.Result.Undo.Until.Before(now) {
		return ""
	}
	state := "open until " + units.Minute(last.Result.Undo.Until)
	if last.Result.Undo.State == string(leftovers.UndoRevoked) {
		state = "revoked, and possible by all rows (--cold)"
	}
	aside := ""
	if last.Result.ParkedRows > 0 {
		aside = fmt.Sprintf(" (it has set aside %s in %s)", humanize.Plural(last.Result.ParkedRows, "row"), schema.NameOf(last.Result.ParkedTable))
	}
	return fmt.Sprintf("the %s of its last change on %s is %s%s, as this machine has last seen it%s", undoOrRedo(last), escape.Line(last.Run.Server),
		state, aside, knownAt(last.Known()))
}

// knownAt adds when that was; "" if it is not known.
func knownAt(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " on " + units.Minute(at)
}

// undoOrRedo is what takes back what a run has done.
func undoOrRedo(last *history.Entry) string { return plan.UndoWord(last.Result.Undo.Redo) }

// takenBack names the change that an undo takes back.
func takenBack(b *plan.Back) string {
	return fmt.Sprintf("%s (%s)", changeAt(b.Redo, b.Swapped), cmp.Or(escape.Line(ddl.Shorten(b.Alter)), "not known"))
}

// changeAt names a change by its time, which may not be known.
func changeAt(back bool, swapped time.Time) string {
	if swapped.IsZero() {
		return changeOrUndo(back) + " at an unknown time"
	}
	return changeOrUndo(back) + " of " + units.Minute(swapped)
}

// undoNotKept is what a plan says of a change that nobody wants to undo.
const undoNotKept = "not kept (--undo=24h keeps it)"

// undoable says whether a change can be undone afterwards, until when, and what would be lost; "" for runs that change nothing.
func undoable(p Planned) string {
	u, open := p.Undoable(), p.Config.Undo
	switch {
	case p.Purpose.Rehearses() && open > 0:
		return "a rehearsal keeps none, because it changes nothing"
	case p.Purpose != plan.Altering || p.Choice.Method == plan.MethodNone:
		return ""
	case !u.Possible:
		return "not possible: " + u.Why + instead(p, u)
	case open <= 0 && plan.Bound(p.Plan):
		return undoNotKept + ". " + plan.BackTogether
	case open <= 0 && len(p.Plan.Together) > 0:
		return undoNotKept + "; without it, midstream undo  --cold " + escape.Line(p.Source.Name.Argument()) + " takes this table back alone, by all rows"
	case open <= 0:
		return undoNotKept
	}
	text := fmt.Sprintf("possible for %s after the swap, with midstream undo  %s", humanize.About(open), escape.Line(p.Source.Name.Argument()))
	if first := firstOf(p.Source.Name, p.Plan.Together); first != p.Source.Name {
		text = "in one step with that of " + first.String()
	} else if len(p.Plan.Together) > 0 {
		text += ", which takes all tables back in one step, whichever you name"
	}
	switch {
	case u.By != "":
		text = fmt.Sprintf("possible for %s afterwards, with midstream undo  %s (the server does it: %s)", humanize.About(open),
			escape.Line(p.Source.Name.Argument()), escape.Line(ddl.Shorten(u.By)))
		if u.Copies {
			text += "; the server copies the table for that while writes wait, and if they would wait for longer than --native-max-lock, " +
				"the undo copies it to a new table"
		}
		if u.Refuses != "" {
			text += "; it ends with the table unchanged if there are rows " + escape.Line(u.Refuses)
		}
	case !u.Lazy:
		text += "; it syncs all rows"
	}
	switch {
	case p.Config.Warm && u.By != "":
		text += "; it is no warm undo (--undo-mode=warm): the server makes it without a process that follows the table"
	case p.Config.Warm:
		text += "; for that time, this process stays after the swap and follows the table (under midstream serve, another one does)"
	}
	if p.Names.Since.Table != "" {
		text += fmt.Sprintf("; until then triggers write the key of each changed row to %s", p.Names.Since)
	}
	if len(u.Fills) > 0 {
		text += fmt.Sprintf("; rows that are new by then need --undo-fill for %s without a default", columns(u.Fills))
	}
	if u.By == "" && u.Refuses != "" {
		text += ". The undo stops before its swap if it finds rows " + escape.Line(u.Refuses) + ". With --park, it keeps such rows in a table of their own"
	}
	if u.Changes != "" {
		text += "; " + escape.Line(u.Changes)
	}
	switch {
	case len(u.Converted) > 0 && u.Lazy:
		text += fmt.Sprintf("; a row that changes by then, in any column, keeps the converted values of %s, and other rows get the former ones back",
			columns(u.Converted))
	case len(u.Converted) > 0:
		text += fmt.Sprintf("; it does not bring the former values of %s back", columns(u.Converted))
	}
	if len(u.Lost) > 0 {
		text += fmt.Sprintf("; it gives up the values of the new %s", columns(u.Lost))
	}
	return text
}

// instead says by which method the change could be undone, and what both cost.
func instead(p Planned, u plan.Undoable) string {
	with := "--undo=24h"
	if p.Config.Undo > 0 {
		with = "--undo-method=require"
	}
	switch {
	case p.Choice.Method == plan.MethodShadow:
		return ""
	case u.NotInstead != "":
		return "; a new table, which could be undone, is refused: " + escape.Line(u.NotInstead)
	case u.Instead == nil:
		return "; " + with + " keeps one"
	}
	return fmt.Sprintf("; with %s it is, and the change takes %s instead of %s", with, roughly(u.Instead.Elapsed),
		roughly(Predict(p.Plan, p.Config, p.Settings).Elapsed))
}

func columns(names []string) string {
	word := "column "
	if len(names) > 1 {
		word = "columns "
	}
	return word + escape.Line(strings.Join(names, ", "))
}

// undone writes the end of an undo.
func undone(p *plan.Plan, r migration.Result) string {
	word := "undone"
	if p.Back.Redo {
		word = "redone"
	}
	from := "from before the " + changeAt(p.Back.Redo, p.Back.Swapped)
	if p.Back.Swapped.IsZero() {
		from = "of its old table"
	}
	return fmt.Sprintf("%s in %s: %s has the definition %s", word, humanize.Span(r.Elapsed), p.Source.Name, from)
}

// synced says in one sentence what an undo has done.
func synced(p *plan.Plan, r migration.Result) string {
	if p.Back.Native {
		return work(r)
	}
	text := "; " + humanize.Plural(r.RowsCopied, "row") + " copied"
	if p.Lazy() {
		text = "; " + humanize.Synced(r.Changed, r.Applied, false)
		if p.Back.Unseen != "" && r.Verify > 0 {
			return text + proof(r, "these rows verified") + "; other rows not compared"
		}
	} else if r.Applied > 0 {
		text += ", " + humanize.Plural(r.Applied, "change") + " applied"
	}
	return text + proof(r, "all verified")
}

// Follows says that a process follows a table from now on, for the undo that its change has left.
func Follows(u *leftovers.Undoable) string {
	table := u.Table.Argument()
	return fmt.Sprintf("this process stays, and follows %s until %s, so that an undo is one short lock. To undo the change, in another terminal: "+
		"midstream undo  %[3]s. To stop this process and leave the undo open: Ctrl-C, or midstream abort  %[3]s", u.Table, units.Minute(u.Record.Until), table)
}

// FollowsNoLonger says that a process has stopped following a table. compared is when it last compared the tables.
func FollowsNoLonger(table schema.Name, compared time.Time) string {
	return fmt.Sprintf("no process follows %s any longer (%s); its undo can still be made: midstream undo  %[3]s. To follow it again: midstream undo  --hold %[3]s",
		table, humanize.Compared(compared, time.Now()), table.Argument())
}

// staysOpen says that the undo of the change before is still open; "" if it is not.
func staysOpen(p *plan.Plan) string {
	e := p.Earlier
	if e == nil || e.Until == "" || p.EndsUndo || p.Choice.Method == plan.MethodShadow {
		return ""
	}
	return fmt.Sprintf("The undo of the change before stays open until %s, and takes this change back too.\n", e.Until)
}

// keptNone says of a change that the server has made itself, and of which nothing was kept, how it is taken back; "" for other runs.
func keptNone(p *plan.Plan) string {
	if p.Back != nil || !p.Purpose.Swaps() || p.Choice.Method == plan.MethodShadow || p.Choice.Method == plan.MethodNone {
		return ""
	}
	u := p.Undoable()
	if !u.Possible {
		return fmt.Sprintf("No undo was kept, and none is possible: %s.\n", escape.Line(u.Why))
	}
	text := "No undo was kept (--undo=24h keeps one). To take the change back: " + plan.WayBack(p.Source.Name, u.By)
	if len(u.Lost) > 0 {
		text += "; it gives up the values of " + columns(u.Lost)
	}
	return escape.Line(text) + ".\n"
}

// howToUndo says how a change that has just ended can be undone, or an undo redone; "" if it cannot.
func howToUndo(table schema.Name, u *leftovers.Undoable) string {
	if u == nil || u.State != leftovers.UndoOpen && u.State != leftovers.UndoRevoked {
		return ""
	}
	word, all := plan.UndoWord(u.Record.Back), ""
	if len(u.Together) > 0 {
		if firstOf(table, u.Together) != table {
			return "" // that one has it
		}
		all = ", in one step with " + schema.List(u.Together)
	}
	if u.State == leftovers.UndoRevoked && all != "" {
		return fmt.Sprintf("To %s it%s, by all rows, as long as the old tables exist: midstream undo  %s\n", word, all, escape.Line(table.Argument()))
	}
	if u.State == leftovers.UndoRevoked {
		return fmt.Sprintf("To %s it, by all rows, as long as %s exists: midstream undo  --cold %s\n", word, u.Old, escape.Line(table.Argument()))
	}
	return fmt.Sprintf("To %s it%s, until %s: midstream undo  %s\n", word, all, units.Minute(u.Record.Until), escape.Line(table.Argument()))
}

// keptForUndo names what a run has kept for its undo, and what becomes of each table if the undo is given up, as leftovers.EndUndo
// does it. size follows the old table's name. rest means that the old table has rows that --keep has left out.
func keptForUndo(table schema.Name, old, size string, rest bool, u *leftovers.Undoable) string {
	end := fmt.Sprintf("Kept for that: %s%s, and its record %s.\nTo give the %s up: midstream undo  --end %s",
		escape.Line(old), size, plan.UndoOf(table), plan.UndoWord(u.Record.Back), escape.Line(table.Argument()))
	switch {
	case u.Record.DropOld:
		return end + " (drops both)\n"
	case rest:
		return end + " (drops the record; the old table is yours)\n"
	}
	return end + fmt.Sprintf(" (drops the record)\nTo drop the old table after that: midstream cleanup  --old %s\n", escape.Line(table.Argument()))
}

// firstOf is the table of a group that has what is printed once, by the order of the names.
func firstOf(table schema.Name, others []schema.Name) schema.Name {
	return slices.MinFunc(append([]schema.Name{table}, others...), byName)
}

// OfRelease describes an interrupt of a command that has released the undo of a table.
func OfRelease(table schema.Name) func(event.Phase, bool) Interrupt {
	i := Interrupt{
		First: "interrupted: the undo was released, and goes on without this command",
		Left:  fmt.Sprintf("the process that follows %s takes the change back", table),
		Next:  "midstream status  " + table.Argument(),
	}
	return func(event.Phase, bool) Interrupt { return i }
}

// Released reports an undo that another process has made.
func Released(table schema.Name, r record.Result) string {
	what, again := "took back the last change of", ""
	switch {
	case r.Undo == nil:
	case r.Undo.Redo:
		again = "redo"
	default:
		what, again = "redid the change of", "undo"
	}
	text := fmt.Sprintf("Done: %s %s, with the lock held for %s", what, table, humanize.Span(r.LockHeldMS.Duration()))
	if r.Undo != nil {
		text += fmt.Sprintf(". To %s it, until %s: midstream undo  %s", again, units.Minute(r.Undo.Until), table.Argument())
	}
	if aside := humanize.SetAside(r.ParkedRows, r.ParkedTable, "", again); aside != "" {
		text += "\n" + strings.TrimSuffix(aside, "\n")
	}
	return text
}

func byName(a, b schema.Name) int { return strings.Compare(a.Dotted(), b.Dotted()) }
