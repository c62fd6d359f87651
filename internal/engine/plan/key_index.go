package plan

import (
	"slices"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/schema"
)

// after is the table after the ALTER, as far as it is known.
func (c *checker) after() *schema.Table {
	if back := c.options.Back; back != nil && back.Old != nil {
		return back.Old
	}
	if c.facts.Trial != nil {
		// MariaDB makes a HASH of a UNIQUE key whose column becomes a TEXT.
		return c.facts.Trial.Altered
	}
	return predict(c.table, c.alter)
}

// widen makes a key of PRIMARY KEY (a) findable by PRIMARY KEY (b, a), and reports whether it did.
// The binlog shows b before and after a change, so the run follows (a, b): it deletes the row that
// the shadow has under the old b. The shadow's index may also have the same columns in another order.
//
// The source must have b, and b must not be NULL. Nothing may change it unseen: no foreign key, and
// no binlog that leaves it out.
func (c *checker) widen(k *Key) bool {
	if len(c.alter.Unknown) > 0 || c.facts.RowImage == "MINIMAL" {
		return false
	}
	sources := map[string]schema.Column{} // by their names after the ALTER
	for _, col := range c.table.Columns {
		if !contains(c.alter.Dropped, col.Name) {
			sources[strings.ToLower(renamed(c.alter, col.Name))] = col
		}
	}
	var best []key.Part
	for _, index := range c.after().Keys {
		more, ok := c.widening(*k, index, sources)
		if ok && (best == nil || len(more) < len(best)) {
			best = append([]key.Part{}, more...)
		}
	}
	if best != nil {
		k.Parts = append(slices.Clone(k.Parts), best...)
	}
	return best != nil
}

// widening returns the columns of an index of the altered table that a key lacks, up to the last
// column of the key.
func (c *checker) widening(k Key, index schema.Key, sources map[string]schema.Column) (more []key.Part, ok bool) {
	if !index.Visible || index.Type != "BTREE" {
		return nil, false
	}
	left := k.Columns()
	for _, part := range index.Parts {
		if len(left) == 0 {
			break
		}
		col, known := sources[strings.ToLower(part.Column)]
		if !known || part.Prefix != 0 || part.Expression != "" {
			return nil, false
		}
		if i := slices.Index(left, col.Name); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		if _, why := c.keyColumn(schema.KeyPart{Column: col.Name}); why != "" || col.Nullable || col.Generated != schema.NotGenerated || c.refers(col) {
			return nil, false
		}
		more = append(more, key.Part{Column: col})
	}
	return more, len(left) == 0
}

// refers reports whether a foreign key of the table has a column. A change of the parent may change it.
func (c *checker) refers(col schema.Column) bool {
	return slices.ContainsFunc(c.table.ForeignKeys, func(fk schema.ForeignKey) bool { return contains(fk.Columns, col.Name) })
}

// indexOf finds the shadow's index for a key of these columns, and whether it has them in another
// order.
func indexOf(t *schema.Table, columns []string) (index *schema.Key, reordered bool) {
	if index = searchable(t, columns); index != nil {
		return index, false
	}
	for i, k := range t.Keys {
		if !k.Visible || k.Type != "BTREE" || len(k.Parts) < len(columns) {
			continue
		}
		first := k.Parts[:len(columns)]
		foreign := func(p schema.KeyPart) bool {
			return p.Expression != "" || p.Prefix != 0 || !contains(columns, p.Column)
		}
		if !slices.ContainsFunc(first, foreign) && (index == nil || k.Unique && !index.Unique) {
			index = &t.Keys[i]
		}
	}
	return index, true
}

// searchable finds the index by which a row of these columns is found, in their order: the index
// begins with them, or the first of them alone is a unique key. A unique index comes before others.
func searchable(t *schema.Table, columns []string) *schema.Key {
	var found *schema.Key
	for i := range t.Keys {
		k := &t.Keys[i]
		if begins(k, columns) && (found == nil || k.Unique && !found.Unique) {
			found = k
		}
	}
	return found
}

func begins(k *schema.Key, columns []string) bool {
	if !k.Visible || k.Type != "BTREE" || len(k.Parts) < len(columns) && !k.Unique {
		return false
	}
	for i, part := range k.Parts[:min(len(k.Parts), len(columns))] {
		if part.Expression != "" || !strings.EqualFold(part.Column, columns[i]) || part.Prefix != 0 && len(k.Parts) < len(columns) {
			return false
		}
	}
	return true
}
