package plan

import (
	"errors"
	"slices"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// BoundBy are the foreign keys, of the table and to it, that the ALTER keeps and because of which the server may refuse it: the ALTER
// touches one of their columns, or an index of these. A copy of the table has none of them.
func BoundBy(t *schema.Table, a *ddl.Alter) []schema.ForeignKey {
	columns := slices.Concat(a.Dropped, a.Modified)
	for _, r := range a.Renames {
		columns = append(columns, r.Old)
	}
	for _, k := range t.Keys {
		if contains(a.DroppedKeys, k.Name) || k.Name == "PRIMARY" && a.DropsPrimaryKey {
			for _, p := range k.Parts {
				columns = append(columns, p.Column)
			}
		}
	}
	touched := func(name string) bool { return contains(columns, name) }
	return slices.DeleteFunc(remaining(t, a), func(fk schema.ForeignKey) bool {
		return !a.ConvertsCharset && a.Parsed &&
			!(fk.Child == t.Name && slices.ContainsFunc(fk.Columns, touched)) &&
			!(fk.Parent == t.Name && slices.ContainsFunc(fk.ParentColumns, touched))
	})
}

// RefusesBound refuses an ALTER that the server refuses because of a foreign key. shadow is why a shadow cannot do it; nil if it can.
func RefusesBound(t *schema.Table, shadow error, server string) error {
	all := &Refused{Table: t.Name.String()}
	var refused *Refused
	if errors.As(shadow, &refused) {
		all.Blocking, all.Others = slices.Clone(refused.Blocking), refused.Others
	}
	all.Blocking = append([]Risk{{
		Code: CodeForeignKey, What: server, Why: "the ALTER would fail on the table too",
		Fix: "Keep the index or the column that the foreign key needs, or drop the foreign key first", Blocking: true,
	}}, all.Blocking...)
	return all
}
