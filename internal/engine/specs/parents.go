package specs

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/engine/parents"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/prescan"
)

// parentKeysOf derives what proves the foreign keys that the ALTER adds.
func parentKeysOf(p *plan.Plan) (keys []parents.Key, err error) {
	tables := plan.ParentTables(p)
	for _, a := range p.Added {
		k := parents.Key{ForeignKey: a.ForeignKey, Create: a.Create}
		if k.Codec, err = key.NewCodec(a.Parts); err != nil {
			return nil, fmt.Errorf("foreign key %s: %w", a.Constraint, err)
		}
		k.Table = slices.IndexFunc(tables, func(t plan.ParentTable) bool { return t.Name == a.Parent })
		for _, part := range a.Parts {
			k.Places = append(k.Places, slices.Index(tables[k.Table].Columns, part.Column.Ordinal))
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// orphansOf are the conditions for rows without a parent that can be read from the source: the ALTER changes no column of the foreign key.
func orphansOf(p *plan.Plan, mappings []plan.Mapping) (all []prescan.Orphans) {
	for _, a := range p.Added {
		fk := a.ForeignKey
		fk.Columns = nil
		for _, name := range a.Columns {
			for _, m := range mappings {
				if strings.EqualFold(m.Shadow, name) && m.Change == plan.Same && m.Set == "" && m.Source != "" {
					fk.Columns = append(fk.Columns, m.Source)
				}
			}
		}
		if len(fk.Columns) == len(a.Columns) {
			all = append(all, prescan.Orphans{
				Constraint: fk.Constraint, What: fmt.Sprintf("without a parent in %s, by the foreign key %s", fk.Parent, fk.Constraint),
				Columns: fk.Columns, Condition: parents.Lacking(p.Source.Name, fk),
			})
		}
	}
	return all
}
