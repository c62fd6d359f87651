package report

import (
	"cmp"
	"fmt"
	"strings"

	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/units"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
)

// aboutUndo says how a change can be undone, or what an undo has taken back, in sentences.
func (r *Report) aboutUndo(events []event.Event) []string {
	told := []string{}
	if r.Run.Undoes {
		told = append(told, r.takenBack()...)
		told = append(told, r.notTaken(events)...)
	}
	if r.Result == nil || r.Result.Outcome != "done" || r.Run.Rehearsal != "" {
		return told
	}
	return append(told, r.undoable()...)
}

// wayBack is how a change is taken back of which nothing was kept.
func (r *Report) wayBack(u *record.Undoable) string {
	none := "The run kept no undo (--undo=24h keeps one)"
	switch {
	case u.Why == plan.BackTogether:
		return none + ". " + u.Why + "."
	case r.Result.Old != "": // also if a shadow took over from the server's own statement
		return none + ". As long as the old table exists, all rows can be taken back: midstream undo  --cold " + schema.NameOf(r.Run.Table).Argument() + "."
	case u.By == "":
		return none + "."
	}
	text := none + ". To take the change back: " + u.Command(schema.NameOf(r.Run.Table))
	if len(u.Lost) > 0 {
		text += ". It gives up the values of the new columns: " + strings.Join(u.Lost, ", ")
	}
	return text + "."
}

// undoable says how the change can be undone, or that it cannot.
func (r *Report) undoable() (told []string) {
	open := r.Result.Undo
	switch {
	case open == nil && (r.Plan == nil || r.Plan.Undo == nil):
		return nil
	case open == nil && r.Plan.Undo.Possible:
		return []string{r.wayBack(r.Plan.Undo)}
	case open == nil:
		return []string{"This change cannot be undone: " + strings.TrimSuffix(r.Plan.Undo.Why, ".") + "."}
	}
	word, next := "undone", "undo"
	if r.isUndo() {
		word, next = "redone", "redo"
	}
	until, how := "until "+units.Minute(open.Until), "midstream undo  "
	if open.State == string(leftovers.UndoRevoked) {
		until = "by all rows as long as the old table exists"
		if len(open.Together) == 0 { // the others may do with less
			how += "--cold "
		}
	}
	with := ""
	if len(open.Together) > 0 {
		with = ", in one step with " + strings.Join(open.Together, ", ")
	}
	told = append(told, fmt.Sprintf("When this run ended, the change could be %s%s %s, with: %s%s",
		word, with, until, how, schema.NameOf(r.Run.Table).Argument()))
	if open.Why != "" {
		told = append(told, fmt.Sprintf("Its undo was %s: %s.", open.State, open.Why))
	}
	if p := r.Plan; p != nil && p.Undo != nil && len(p.Undo.Lost) > 0 {
		told = append(told, "An undo gives up the values of the new columns: "+strings.Join(p.Undo.Lost, ", ")+".")
	}
	if r.Plan != nil && r.Plan.Statement == "" && open.Unfit == nil && open.Mode != plan.UndoNative {
		told = append(told, fmt.Sprintf("For the %s, the rows were not checked: before its lock it lists rows that the old table does not take.", next))
	}
	return told
}

// isUndo reports whether the run was an undo, and no redo.
func (r *Report) isUndo() bool {
	return r.Run.Undoes && (r.Plan == nil || r.Plan.Undoes == nil || !r.Plan.Undoes.Redo)
}

// statement reports whether the run is about a statement on complete tables, such as TRUNCATE: no definition changes.
func (r *Report) statement() bool { return r.Plan != nil && r.Plan.Statement != "" }

// takenBack says what an undo takes back.
func (r *Report) takenBack() []string {
	if r.Plan == nil || r.Plan.Undoes == nil {
		return nil
	}
	u, what := r.Plan.Undoes, "change"
	if u.Redo {
		what = "undo"
	}
	text := fmt.Sprintf("This run takes back the %s of %s: %s.", what, units.Minute(u.Swapped), u.Alter)
	switch {
	case r.statement() && u.Swapped.IsZero(): // the run of the statement was killed
		return []string{fmt.Sprintf("This run takes back the %s: %s.", what, u.Alter)}
	case r.statement():
		return []string{text}
	case u.Swapped.IsZero():
		text = fmt.Sprintf("This run takes back a change of which nothing was kept: %s.", cmp.Or(u.Alter, "no ALTER makes one table of the other"))
	}
	if u.Mode != plan.UndoLazy {
		return []string{text + " It syncs and compares all rows."}
	}
	if u.Compares == "all" {
		text += " It syncs the rows that have changed since, and compares all rows."
	} else {
		text += " It syncs and compares the rows that have changed since. Other rows are not compared:" +
			" a write since then that the binlog does not have (sql_log_bin=0, skip_log_bin) is lost."
	}
	if r.Result == nil {
		return []string{text}
	}
	return []string{text, humanize.Synced(r.Result.Changed, r.Result.Applied, true) + "."}
}

// notTaken says which rows an undo could not bring back.
func (r *Report) notTaken(events []event.Event) (told []string) {
	var parked *event.Parked
	redo := !r.isUndo()
	unfit, definition, again := int64(0), "The "+plan.UndoGives(redo), plan.UndoWord(!redo)
	for _, e := range events {
		switch e := e.(type) {
		case event.Progress:
			if e.Unfit != nil {
				unfit = e.Unfit.Rows
			}
		case event.Parked:
			parked = &e
		}
	}
	switch done := r.Result != nil && r.Result.Outcome == "done"; {
	case done && parked != nil && parked.Rows > 0:
		if r.statement() {
			return []string{fmt.Sprintf("Rows that were written since the TRUNCATE are kept in %s: %s. A redo does not bring them back.",
				schema.NameOf(parked.Table), humanize.Keyed(parked.Rows, parked.Keys))}
		}
		text := fmt.Sprintf("%s refused rows. Copies are in %s: %s.", definition, schema.NameOf(parked.Table), humanize.Keyed(parked.Rows, parked.Keys))
		if r.Result.Undo != nil {
			text += " The " + again + " brings the rows back into the table."
		}
		return []string{text}
	case r.statement():
	case done:
		return []string{definition + " took all rows."}
	case unfit > 0:
		return []string{fmt.Sprintf("%s refuses %s. They need a decision: change them, or give --park.", definition, humanize.Plural(unfit, "row"))}
	}
	return nil
}
