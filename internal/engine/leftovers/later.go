package leftovers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// OldUnfit is why an old table, as it was read or not, cannot be the one that a change has left; "" if it can.
func OldUnfit(saved *checkpoint.Saved, name, source schema.Name, old *schema.Table, err error) string {
	switch why := gone(name, err); {
	case why != "":
		return "the old table " + why
	case err != nil:
		return ""
	case !old.SameColumns(&schema.Table{Columns: saved.Start.Columns}):
		return fmt.Sprintf("the old table %s was altered", name)
	case !saved.Undo.Begun && !isMarked(old, source):
		return fmt.Sprintf("%s has no mark of an old table: it may be another one", name)
	}
	return ""
}

// NotLazy is why an undo syncs all rows, by the record and the definition of the table now; "" if only the binlog can still
// forbid a lazy one. acting means that foreign keys change rows of the table without a trace in the binlog.
func NotLazy(saved *checkpoint.Saved, now *schema.Table, acting bool) string {
	switch {
	case saved.Undo.Rebuilt:
		return "nothing was kept of the change"
	case saved.Undo.Mode != plan.UndoLazy:
		return "the change kept no position"
	case saved.Undo.Lacks:
		return "rows have come back that had been parked, and the old table lacks them"
	case saved.Undo.OnlyCold != "":
		return saved.Undo.OnlyCold
	case acting && saved.Undo.Log == "":
		return "foreign keys change rows of the table without a trace in the binlog"
	}
	return notByKeys(saved, now)
}

// acts reports whether foreign keys change rows of a table without a trace in the binlog.
func acts(ctx context.Context, q schema.Querier, table *schema.Table) (bool, error) {
	if !slices.ContainsFunc(table.ForeignKeys, func(k schema.ForeignKey) bool { return k.Child == table.Name && k.Acts() }) {
		return false, nil
	}
	logs, err := facts.LogsCascades(ctx, q)
	return !logs, err
}

// notByKeys is why the changes of the table since the swap cannot be known by their keys: a column that the change has left was
// altered since. It is "" if the definitions do not show that; the binlog may have more.
func notByKeys(saved *checkpoint.Saved, now *schema.Table) string {
	made := MadeBy(saved.Start)
	if made == nil || saved.Undo.Log != "" {
		return ""
	}
	last := -1
	for _, c := range made.Columns {
		is, there := now.Column(c.Name)
		switch {
		case !there:
			return fmt.Sprintf("column %s of %s was dropped or renamed since the swap", c.Name, now.Name)
		case is.Ordinal < last:
			return fmt.Sprintf("column %s of %s was moved since the swap", c.Name, now.Name)
		case !sameValues(c, is):
			return fmt.Sprintf("column %s of %s was altered since the swap", c.Name, now.Name)
		}
		last = is.Ordinal
	}
	return ""
}

// sameValues reports whether two columns hold the same values. Versions of the server write the types of numbers differently.
func sameValues(a, b schema.Column) bool {
	return a.DataType == b.DataType && a.Charset == b.Charset && a.Collation == b.Collation && a.Unsigned == b.Unsigned &&
		a.Nullable == b.Nullable && a.Generated == b.Generated && a.Length == b.Length && a.Precision == b.Precision &&
		a.Scale == b.Scale && a.Fraction == b.Fraction && slices.Equal(a.Members, b.Members)
}

// MadeBy is the table as a change has made it, with its comment; nil if the record does not have it.
func MadeBy(start *checkpoint.Start) *schema.Table {
	if start == nil || start.Shadow == nil {
		return nil
	}
	made := *start.Shadow
	made.Comment = start.Comment
	return &made
}

// Replaces is a column that a later change adds to the table under the name of one that only the old table has; "" for none.
// An undo would take the values of the old one. had is the table before that change, and now the table after it.
func Replaces(old []schema.Column, pairs map[string]string, had, now *schema.Table) string {
	former := schema.Table{Columns: old}
	mapped := map[string]bool{}
	for fresh, was := range pairs {
		if _, there := now.Column(fresh); there {
			mapped[strings.ToLower(was)] = true
		}
	}
	for _, c := range now.Columns {
		_, stays := had.Column(c.Name)
		_, was := former.Column(c.Name)
		if was && !stays && !mapped[strings.ToLower(c.Name)] {
			return c.Name
		}
	}
	return ""
}
