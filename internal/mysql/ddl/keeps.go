package ddl

import "slices"

// KeepsRows reports whether a statement changes no row and no column of a table: at most
// its indexes, foreign keys, CHECKs or comment. It is false for what it cannot read.
func KeepsRows(sql string) bool {
	s, err := ParseStatement(sql)
	if err != nil || s.Kind != KindAlter {
		return false
	}
	a := s.Alter
	if !a.Parsed || a.Doubtful || len(a.Unknown) > 0 {
		return false
	}
	columns := slices.Concat(a.Added, a.AddedIfMissing, a.Dropped, a.Modified, a.Numbered)
	operations := slices.Concat(a.PartitionOps, a.TablespaceOps, a.LoadOps)
	return len(columns)+len(operations)+len(a.Renames)+len(a.Defined) == 0 && a.Engine == "" &&
		!a.Versions && !a.AddsPrimaryKey && !a.DropsPrimaryKey && !a.RenamesTable && !a.ConvertsCharset && !a.OrdersRows
}
