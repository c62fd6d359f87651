package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// gone is why a table as it was read cannot be the one that a change has made; "" if it can. failed is the error of reading it.
func gone(table schema.Name, failed error) string {
	switch {
	case errors.Is(failed, schema.ErrNotFound), dbconn.NoSuchTable(failed), dbconn.NoSuchDatabase(failed): // dropped while it was read
		return fmt.Sprintf("%s is gone", table)
	case errors.Is(failed, schema.ErrNotBaseTable):
		return fmt.Sprintf("%s is no table any more", table)
	}
	return ""
}

// bar is why the undo of a change refuses the table as it is now; "" if it does not. A change of the table may lift it.
func (u *Undoable) bar(now *schema.Table) string {
	pairs := map[string]bool{}
	for fresh := range u.Record.Pairs {
		pairs[strings.ToLower(fresh)] = true
	}
	old := schema.Table{Columns: u.OldColumns}
	follows := slices.ContainsFunc(now.Keys, func(k schema.Key) bool {
		return k.Unique && !slices.ContainsFunc(k.Parts, func(p schema.KeyPart) bool {
			column, there := now.Column(p.Column)
			former, was := old.Column(p.Column)
			computed := was && column.Generated != schema.NotGenerated && former.Generated != schema.NotGenerated
			return !there || column.Nullable || !pairs[strings.ToLower(p.Column)] && !computed
		})
	})
	if !follows {
		return fmt.Sprintf("%s has no primary key or unique key any more by which an undo finds its rows", u.Table)
	}
	if u.Made != nil {
		if name := Replaces(u.OldColumns, u.Record.Pairs, u.Made, now); name != "" {
			return fmt.Sprintf("column %s was added since, and the old table has another column of that name", name)
		}
	}
	return ""
}

// namesTaken is why a statement on complete tables cannot be taken back, or be made again; "" if the names of the tables are
// as it has left them.
func (u *Undoable) namesTaken(ctx context.Context, pool *dbconn.Pool) (why string, err error) {
	l := u.Record.Ledger
	made := l.Step == checkpoint.Made
	for _, move := range l.Moves {
		has, free := move.To, move.From
		if !made {
			has, free = free, has
		}
		if _, err := schema.Load(ctx, pool.DB(), has); err != nil {
			if why := gone(has, err); why != "" {
				return u.withRenamed(ctx, pool, has, why), nil
			}
			return "", err
		}
		// A TRUNCATE leaves a table under the name, and a RENAME may exchange names.
		occupied := l.Kind == string(ddl.KindTruncate) && made || slices.ContainsFunc(l.Moves, func(other checkpoint.Move) bool {
			return made && other.To == free || !made && other.From == free
		})
		_, err := schema.Load(ctx, pool.DB(), free)
		switch {
		case err == nil && !occupied || errors.Is(err, schema.ErrNotBaseTable):
			return fmt.Sprintf("another table has the name %s", free), nil
		case errors.Is(err, schema.ErrNotFound) && occupied:
			return u.withRenamed(ctx, pool, free, gone(free, err)), nil
		case err != nil && !errors.Is(err, schema.ErrNotFound):
			return "", err
		}
	}
	return "", nil
}

// Changed describes how a table differs from what it was before its TRUNCATE; "" if it doesn't.
func Changed(was, now *schema.Table) string {
	before, _ := schema.SplitAutoIncrement(was.Create)
	after, _ := schema.SplitAutoIncrement(now.Create)
	switch {
	case !schema.SameDefinition(before, after):
		return "its definition is another one"
	case len(now.Triggers) > 0:
		return "it has triggers now: " + strings.Join(now.TriggerNames(), ", ")
	case len(now.ReferencedBy) > 0:
		return fmt.Sprintf("foreign key %s of %s refers to it now", now.ReferencedBy[0].Constraint, now.ReferencedBy[0].Child)
	}
	return ""
}
