package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
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
		made := u.Made
		if l := u.Record.Ledger; l != nil {
			made = l.Table
		}
		if made == nil || made.Comment != now.Comment || !now.SameColumns(made) {
			continue
		}
		if _, err := schema.Load(ctx, pool.DB(), u.Table); !errors.Is(err, schema.ErrNotFound) || slices.Contains(u.moved(), name) {
			continue
		}
		return fmt.Sprintf("the last change of %s can be undone, and that table is gone; %s has its definition. If it is that table, give it its name back: "+
			"RENAME TABLE %s TO %s", u.Table, name, name.Quoted(), u.Table.Quoted())
	}
	return ""
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
