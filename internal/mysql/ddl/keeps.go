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
	return a != nil && !a.adds() && a.keepsColumns()
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

// Moves are the renames of a statement that gives tables other names and changes no row or column: RENAME TABLE, or an ALTER TABLE with
// RENAME TO; nil for another statement. Names without a database are of the session's, also behind the ALTER TABLE of another database.
func Moves(sql, database string) []TableRename {
	s, err := ParseStatement(sql)
	if err != nil {
		return nil
	}
	if s.Kind == KindAlter {
		a := readable(sql)
		if a == nil || !a.RenamesTable || a.RenamedTo.Table == "" || a.changesColumns() || a.adds() {
			return nil
		}
		s = &Statement{Kind: KindRename, Renames: []TableRename{{From: a.Table, To: a.RenamedTo}}}
	}
	if s.Kind != KindRename || s.In(database) != nil {
		return nil
	}
	return s.Renames
}

// adds reports whether the ALTER adds columns, defines them anew, or numbers rows.
func (a *Alter) adds() bool {
	return len(a.Added)+len(a.AddedIfMissing)+len(a.Defined)+len(a.Numbered) > 0
}

// keepsColumns reports whether the ALTER leaves the table's name, and the columns as they are, but for those that it adds.
func (a *Alter) keepsColumns() bool { return !a.RenamesTable && !a.changesColumns() }

// changesColumns reports whether the ALTER changes columns that the table has, or how the table stores its rows.
func (a *Alter) changesColumns() bool {
	columns := slices.Concat(a.Dropped, a.Modified)
	operations := slices.Concat(a.PartitionOps, a.TablespaceOps, a.LoadOps)
	return len(columns)+len(operations)+len(a.Renames) > 0 || a.Engine != "" ||
		a.Versions || a.AddsPrimaryKey || a.DropsPrimaryKey || a.ConvertsCharset || a.OrdersRows
}
