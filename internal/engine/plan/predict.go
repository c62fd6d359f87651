package plan

import (
	"slices"
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// predict returns the keys that the table has after the ALTER, as far as lookups by complete
// columns need them.
func predict(t *schema.Table, a *ddl.Alter) *schema.Table {
	after := &schema.Table{Name: t.Name, Partitioned: slices.Contains(a.PartitionOps, "PARTITION BY") ||
		t.Partitioned && !slices.Contains(a.PartitionOps, "REMOVE PARTITIONING")}
	for _, k := range t.Keys {
		if contains(a.DroppedKeys, k.Name) {
			continue
		}
		kept := k
		kept.Parts = nil
		kept.Visible = k.Visible && !contains(a.HiddenKeys, k.Name)
		for _, p := range k.Parts {
			if contains(a.Dropped, p.Column) {
				continue
			}
			p.Column = renamed(a, p.Column)
			kept.Parts = append(kept.Parts, p)
		}
		if len(kept.Parts) > 0 {
			after.Keys = append(after.Keys, kept)
		}
	}
	for _, k := range a.Keys {
		added := schema.Key{Name: k.Name, Unique: k.Unique, Visible: true, Type: "BTREE"}
		for _, name := range k.Columns {
			p := schema.KeyPart{Column: name}
			if name == "" {
				p.Expression = "?"
			}
			added.Parts = append(added.Parts, p)
		}
		after.Keys = append(after.Keys, added)
	}
	return after
}

// renamedAll returns the new names of columns of the source.
func renamedAll(a *ddl.Alter, names []string) []string {
	after := slices.Clone(names)
	for i := range after {
		after[i] = renamed(a, after[i])
	}
	return after
}

// renamed returns the new name of a column of the source.
func renamed(a *ddl.Alter, name string) string {
	for _, r := range a.Renames {
		if strings.EqualFold(r.Old, name) {
			return r.New
		}
	}
	return name
}
