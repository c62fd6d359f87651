package planning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"midstream/internal/engine/desired"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/units"
	"midstream/internal/mysql/schema"
)

// rebuild makes the record of a change of which nothing was kept from the table and its old table, which has our mark. It
// fails with leftovers.ErrNoUndo if there is none, and refuses what only the operator can know: a wrong guess would lose
// values (U4, U5).
func (m *undoMaker) rebuild(ctx context.Context, name schema.Name) error {
	db := m.server.Pool.DB()
	olds, err := leftovers.Unrecorded(ctx, m.server.Pool, &name)
	if err != nil {
		return err
	}
	olds = slices.DeleteFunc(olds, func(t leftovers.OldTable) bool { return t.Dropped })
	slices.SortFunc(olds, newestFirst)
	var names, dated []string
	for _, t := range olds {
		names, dated = append(names, t.Name.Table), append(dated, t.Name.Table+at(t.Made))
	}
	old, wish := "", m.options.Plan.Names.Shadow
	switch {
	case len(olds) == 0:
		return leftovers.NoUndo(ctx, m.server.Pool, name)
	case !m.undo.Cold && !m.undo.Lazy: // it takes back every change since, and the last one may be another
		there, look, command := "there is an old table, ", "Look first: ", "midstream undo  --plan --cold "
		if len(olds) > 1 {
			there, look = "there are several old tables, the newest first: ", "Look first, here with the newest one: "
			command += "--shadow-name=" + schema.Shell(names[0]) + " "
		}
		return refuse(name, notBack, "nothing was kept of it; "+there+strings.Join(dated, ", ")+"; an undo by all rows takes back every change since "+
			"the date of the table that it goes back to", look+command+name.Argument()+". Without --plan, the undo is done")
	case wish != "" && !slices.Contains(names, wish):
		return refuse(name, cannotUse("--shadow-name="+wish), "it has no mark of an old table of "+name.String(), "Old tables, the newest first: "+strings.Join(dated, ", "))
	case wish != "":
		old = wish
	case len(olds) > 1:
		return refuse(name, notBack, "nothing was kept of it, and there are several old tables, the newest first: "+strings.Join(dated, ", "),
			"Name the table to go back to. This only shows what the newest one gives: midstream undo  --plan --cold --shadow-name="+
				schema.Shell(names[0])+" "+name.Argument())
	default:
		old = names[0]
	}
	m.table, err = schema.Load(ctx, db, name)
	if errors.Is(err, schema.ErrNotFound) {
		return leftovers.NoUndo(ctx, m.server.Pool, name)
	}
	if err != nil {
		return err
	}
	former, err := schema.Load(ctx, db, name.Sibling(old))
	if err != nil {
		return fmt.Errorf("read the old table: %w", err)
	}
	if why, fix := leftovers.KeepsRows(m.table, former); why != "" {
		return refuse(name, notBack, why, fix)
	}
	pairs, unclear, err := plan.PairColumns(former, m.table, m.options.Plan.Map)
	if err != nil {
		return refuse(name, cannotUse("--map"), err.Error(), "Give --map column_before=column_now, or --map =column_now if the column is new")
	}
	if unclear != nil {
		return m.ask(former.Name, *unclear)
	}
	m.pairs, m.saved = pairs, leftovers.Rebuilt(m.table, former, pairs, forwards(former, m.table, pairs))
	return nil
}

// newestFirst sorts old tables. Of two of one second, the later name is newer: a run takes the first free one.
func newestFirst(a, b leftovers.OldTable) int {
	return cmp.Or(b.Made.Compare(a.Made), cmp.Compare(len(b.Name.Table), len(a.Name.Table)), cmp.Compare(b.Name.Table, a.Name.Table))
}

// at is a date behind a name; "" if it is not known.
func at(made time.Time) string {
	if made.IsZero() {
		return ""
	}
	return " (" + units.Minute(made) + ")"
}

// ask refuses an undo until the operator has said which columns the change has renamed.
func (m *undoMaker) ask(old schema.Name, u plan.Unclear) error {
	var renamed, added []string
	for i, name := range u.Fresh {
		renamed = append(renamed, "--map "+schema.Shell(u.Gone[min(i, len(u.Gone)-1)]+"="+name))
		added = append(added, "--map "+schema.Shell("="+name))
	}
	return refuse(m.table.Name,
		fmt.Sprintf("only you know which columns the change has renamed: only %s has %s, and only %s has %s",
			old, strings.Join(u.Gone, ", "), m.table.Name, strings.Join(u.Fresh, ", ")),
		"nothing was kept of the change, and a wrong guess would lose values",
		fmt.Sprintf("Give --map for each of %s: %s if it was renamed, or %s if the change has added it. If none was renamed: midstream undo  --cold %s %s",
			strings.Join(u.Fresh, ", "), renamed[0], added[0], strings.Join(added, " "), m.table.Name.Argument()))
}

// forwards are the clauses of a change, by its two tables; "" if no ALTER makes one of the other.
func forwards(former, now *schema.Table, pairs map[string]string) string {
	before, back := *former, map[string]string{}
	before.Name = now.Name
	before.Comment, _ = schema.MarkedOld(former.Comment, now.Name)
	for fresh, old := range pairs {
		back[old] = fresh
	}
	alter, err := desired.Back(&before, now, now.Comment, backwards(&before, now, back), nil)
	if err != nil || alter.Clauses == "FORCE" {
		return ""
	}
	return alter.Clauses
}

// unrecorded warns of what nobody knows of a change of which nothing was kept.
func (m *undoMaker) unrecorded() []plan.Risk {
	if !m.saved.Undo.Rebuilt {
		return nil
	}
	risks := []plan.Risk{
		{
			Code: plan.CodeUndo, What: "nothing was kept of the change: the undo syncs and compares all rows, and takes columns of one name for one column",
			Why: "only the two tables show what the change was",
			Fix: "If a column has taken the name of another one since, give --map =column",
		},
		{
			Code: plan.CodeUndo, What: "foreign keys and triggers that the change has dropped do not come back",
			Why: "nothing shows which they were", Fix: "Make them again after the undo",
		},
	}
	if m.old.Rows > 2*m.table.Rows {
		risks = append(risks, plan.Risk{
			Code: plan.CodeUndo,
			What: fmt.Sprintf("rows that only %s has are removed from it: it has about %d rows, and %s about %d", m.old.Name, m.old.Rows, m.table.Name, m.table.Rows),
			Why:  "no record shows whether the application has deleted them",
			Fix:  "If they must stay, copy them to another table first",
		})
	}
	if dropped := onlyIn(m.old, m.says); len(dropped) > 0 {
		risks = append(risks, plan.Risk{
			Code: plan.CodeUndo, What: fmt.Sprintf("columns come back with the values that %s has now: %s", m.old.Name, strings.Join(dropped, ", ")),
			Why: "nothing shows whether another session has written to it since the swap",
		})
	}
	if utf8.RuneCountInString(m.old.Comment) >= schema.MaxComment {
		risks = append(risks, plan.Risk{
			Code: plan.CodeUndo, What: "the comment that the table had may come back without its end", Why: "the mark of the old table has only a part of it",
		})
	}
	return risks
}
