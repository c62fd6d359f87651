package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// MovedByHand is what a table is, if another session has renamed it since a run gave it its name, or since a change of it that can be
// undone, and what to do; "" if that cannot be seen.
func MovedByHand(ctx context.Context, pool *dbconn.Pool, name schema.Name) string {
	now, err := schema.Load(ctx, pool.DB(), name)
	if err != nil {
		return ""
	}
	if source, _, is := schema.SourceOfAside(now.Comment, name.Schema); is {
		all, err := Undoables(ctx, pool, &source)
		switch {
		case err != nil || plan.IsAside(source, name, now.Comment):
			return ""
		case len(all) == 1:
			return asideMoved(source, name, all[0].aside(), now.Comment)
		}
		return asideMoved(source, name, plan.NamesOf(source).Old, now.Comment)
	}
	records, err := undoTables(ctx, pool, " AND table_schema = "+schema.Literal(name.Schema))
	if err != nil {
		return ""
	}
	for _, record := range records {
		u, err := undoable(ctx, pool, record)
		if err != nil || u == nil || u.Record.Back {
			continue
		}
		if made := u.made(); made == nil || made.Comment != now.Comment || !now.SameColumns(made) {
			continue
		}
		if _, err := schema.Load(ctx, pool.DB(), u.Table); !errors.Is(err, schema.ErrNotFound) || slices.Contains(u.moved(), name) {
			continue
		}
		return fmt.Sprintf("the last change of %s can be undone, and that table is gone; %s", u.Table, looksAs(name, u.Table))
	}
	return ""
}

// looksAs is about a table that may be one that is gone.
func looksAs(name, gone schema.Name) string {
	return fmt.Sprintf("%s has its definition. If it is that table, give it its name back: RENAME TABLE %s TO %s", name, name.Quoted(), gone.Quoted())
}

// made is the table as the change has made it; nil if that is not known. For a statement on complete tables, it is the first one.
func (u *Undoable) made() *schema.Table {
	switch l, n := u.Record.Ledger, u.Record.Native; {
	case l != nil:
		return l.Table
	case n != nil && n.Step == checkpoint.Made:
		return n.After
	}
	return u.Made
}

// mostLooks is how many tables are named that may be one that is gone. If there are more, they say nothing.
const mostLooks = 3

// withRenamed adds to a reason, that a table of the change is gone, the tables that have its definition: another session may have renamed
// it.
func (u *Undoable) withRenamed(ctx context.Context, pool *dbconn.Pool, table schema.Name, why string) string {
	made, l := u.made(), u.Record.Ledger
	if l != nil && l.Kind == string(ddl.KindRename) && len(l.Moves) > 1 { // the definition may be that of another one
		return why + u.withOthers(table)
	}
	if made == nil {
		return why
	}
	looks, err := looksOf(ctx, pool, table, made)
	looks = slices.DeleteFunc(looks, func(n schema.Name) bool { return n == u.Table || n == u.Old || slices.Contains(u.moved(), n) })
	if err != nil || len(looks) > mostLooks {
		return why
	}
	for _, name := range looks {
		why += "; " + looksAs(name, table)
	}
	return why
}

// withOthers says of a table that is gone what that means for the others of its RENAME.
func (u *Undoable) withOthers(table schema.Name) string {
	l := u.Record.Ledger
	word, made := plan.UndoWord(u.Record.Back), l.Step == checkpoint.Made
	for _, move := range l.Moves {
		has, name := move.To, move.From
		if !made {
			has, name = name, has
		}
		if has == table {
			return fmt.Sprintf(", which the %s would rename to %s, with all %d tables of the statement or none. If the table has another name now, rename it to %s",
				word, name, len(l.Moves), table)
		}
	}
	return ""
}

// looksOf finds the tables in the database of one that have its columns and its comment.
func looksOf(ctx context.Context, pool *dbconn.Pool, table schema.Name, made *schema.Table) (looks []schema.Name, err error) {
	var columns []string
	for _, c := range made.Columns {
		columns = append(columns, schema.Literal(c.Name))
	}
	rows, err := pool.DB().QueryContext(ctx, fmt.Sprintf(`SELECT table_name FROM information_schema.columns WHERE table_schema = ?
		GROUP BY table_name HAVING COUNT(*) = %d AND SUM(column_name IN (%s)) = %[1]d ORDER BY table_name LIMIT %[3]d`,
		len(columns), strings.Join(columns, ", "), 10*mostLooks), table.Schema)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, name := range names {
		now, err := schema.Load(ctx, pool.DB(), table.Sibling(name))
		if err == nil && now.Comment == made.Comment && now.SameColumns(made) {
			looks = append(looks, now.Name)
		}
	}
	return looks, nil
}

// asideMoved is about a table that was put aside as was, and has another name.
func asideMoved(source, name, was schema.Name, comment string) string {
	_, former, _ := schema.SourceOfAside(comment, name.Schema)
	return fmt.Sprintf("%s is the old table of %s by its mark, and was renamed. To give it its name back: RENAME TABLE %s TO %s. "+
		"If it is in use again, its mark goes with: ALTER TABLE %[3]s COMMENT = %[5]s",
		name, source, name.Quoted(), was.Quoted(), schema.Literal(former))
}

// aside is the name under which the change has put a table aside.
func (u *Undoable) aside() schema.Name {
	switch l := u.Record.Ledger; {
	case u.Record.Old != "":
		return u.Old
	case l != nil && len(l.Moves) > 0:
		return l.Moves[0].To
	}
	return plan.NamesOf(u.Table).Old
}

// moved are the names that the statement of a change has given tables.
func (u *Undoable) moved() (names []schema.Name) {
	if l := u.Record.Ledger; l != nil {
		for _, move := range l.Moves {
			names = append(names, move.To)
		}
	}
	return names
}

// withMoved adds to a reason, that the old table is gone, the table that has its mark.
func (u *Undoable) withMoved(ctx context.Context, pool *dbconn.Pool, why string) string {
	there, err := New(pool, u.Table, plan.Undoing).List(ctx)
	if err != nil {
		return why
	}
	var found []string
	for name, t := range there {
		source, _, is := schema.SourceOfAside(t.comment, name.Schema)
		if is && source == u.Table && !plan.IsAside(source, name, t.comment) {
			found = append(found, asideMoved(source, name, u.aside(), t.comment))
		}
	}
	slices.Sort(found)
	return strings.Join(append([]string{why}, found...), "; ")
}
