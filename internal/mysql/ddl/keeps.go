package ddl

import (
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// KeepsRows reports whether a statement changes no row and no column of a table: at most
// its indexes, foreign keys, CHECKs or comment. It is false for what it cannot read.
func KeepsRows(sql string) bool {
	a := readable(sql)
	return a != nil && len(a.Added)+len(a.AddedIfMissing)+len(a.Defined)+len(a.Numbered) == 0 && a.keepsColumns()
}

// OnlyAdds reports whether a statement only adds columns to a table, or does what KeepsRows permits: the other columns of
// each row keep their values.
func OnlyAdds(sql string) bool {
	a := readable(sql)
	if a == nil || !a.keepsColumns() || len(a.Numbered) > 0 {
		return false
	}
	added := slices.Concat(a.Added, a.AddedIfMissing)
	return !slices.ContainsFunc(a.Defined, func(c schema.Column) bool {
		return !slices.ContainsFunc(added, func(name string) bool { return strings.EqualFold(name, c.Name) })
	})
}

// readable is the ALTER that a statement is; nil if it is none, or cannot be read.
func readable(sql string) *Alter {
	s, err := ParseStatement(sql)
	if err != nil || s.Kind != KindAlter || !s.Alter.Parsed || s.Alter.Doubtful || len(s.Alter.Unknown) > 0 {
		return nil
	}
	return s.Alter
}

// keepsColumns reports whether the ALTER leaves the columns as they are, but for those that it adds.
func (a *Alter) keepsColumns() bool {
	columns := slices.Concat(a.Dropped, a.Modified)
	operations := slices.Concat(a.PartitionOps, a.TablespaceOps, a.LoadOps)
	return len(columns)+len(operations)+len(a.Renames) == 0 && a.Engine == "" &&
		!a.Versions && !a.AddsPrimaryKey && !a.DropsPrimaryKey && !a.RenamesTable && !a.ConvertsCharset && !a.OrdersRows
}
