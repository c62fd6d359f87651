package desired

import (
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// index is an index, read from its clause.
type index struct {
	schema.Key
	// body is the clause with the columns' new names, without the index's name and its visibility.
	body string
	// again means that a column of the index is dropped and added, so the index is too.
	again     bool
	generated bool // for a table without primary key
}

// indexOf reads an index; now gives columns their new names.
func (d *differ) indexOf(k schema.Key, columns []schema.Column, now func(string) string) index {
	x := index{Key: k}
	text, t := plain(k.Definition)
	functional := slices.ContainsFunc(k.Parts, func(p schema.KeyPart) bool { return p.Expression != "" })
	if k.Name != "PRIMARY" { // its name is the first in backticks
		i := slices.IndexFunc(t, func(t token.Token) bool { return t.Kind == token.Quoted && t.Depth == 0 })
		t = slices.Delete(t, i, i+1)
	}
	var b strings.Builder
	for i, w := range t {
		switch {
		// InnoDB ignores it, but still shows it if the table's own value was once another one.
		case ofBlocks(t, i):
		case w.Depth == 0 && (w.Is("INVISIBLE") || w.Is("IGNORED")):
		// Columns get their new names, but not in an expression, where the server keeps the old
		// names.
		case w.Kind == token.Quoted && !functional:
			b.WriteString(schema.Quote(fold(now(w.Text))) + " ")
		default:
			b.WriteString(text[w.Start:w.End] + " ")
		}
	}
	x.body = b.String()
	for i, p := range k.Parts {
		x.Parts = slices.Clone(x.Parts)
		x.Parts[i].Column = now(p.Column)
		x.generated = x.generated ||
			slices.ContainsFunc(columns, func(c schema.Column) bool { return c.Name == p.Column && c.GeneratedKey() })
		x.again = x.again || slices.ContainsFunc(d.pairs, func(q pair) bool { return q.fresh && q.from.Name == p.Column && p.Column != "" })
	}
	return x
}

// ofBlocks reports whether a word belongs to KEY_BLOCK_SIZE=8.
func ofBlocks(t []token.Token, i int) bool {
	for n := range 3 {
		if i-n >= 0 && t[i-n].Depth == 0 && t[i-n].Is("KEY_BLOCK_SIZE") {
			return true
		}
	}
	return false
}

// indexes pairs indexes by their names. An index that is equal but for its name is renamed.
func (d *differ) indexes() {
	same := func(name string) string { return name }
	var left, want []index
	for _, k := range d.have.table.Keys {
		if x := d.indexOf(k, d.have.table.Columns, d.now); !x.generated || d.ownPrimary() {
			left = append(left, x)
		}
	}
	for _, k := range d.want.table.Keys {
		if x := d.indexOf(k, d.want.table.Columns, same); !x.generated {
			want = append(want, x)
		}
	}
	var drop, add, missing []index
	for _, w := range want {
		i := slices.IndexFunc(left, func(x index) bool { return fold(x.Name) == fold(w.Name) })
		if i < 0 {
			missing = append(missing, w)
			continue
		}
		x := left[i]
		left = slices.Delete(left, i, i+1)
		if x.body != w.body || x.again {
			drop, add = append(drop, x), append(add, w)
		} else {
			d.adjust(x, w)
		}
	}
	for _, w := range missing {
		i := slices.IndexFunc(left, func(x index) bool { return x.body == w.body && !x.again && !d.needed(x.Key) })
		if i < 0 {
			add = append(add, w)
			continue
		}
		d.adjust(left[i], w)
		left = slices.Delete(left, i, i+1)
	}
	for _, x := range append(drop, left...) {
		switch {
		case x.Name == "PRIMARY":
			d.drops = append(d.drops, "DROP PRIMARY KEY")
		case !d.needed(x.Key):
			d.drops = append(d.drops, "DROP INDEX "+schema.Quote(x.Name))
		}
	}
	for _, w := range add {
		definition, _ := plain(w.Definition)
		d.keys = append(d.keys, "ADD "+definition)
	}
}

// ownPrimary reports whether the file's table declares a primary key.
func (d *differ) ownPrimary() bool {
	k, has := d.want.table.Key("PRIMARY")
	if !has {
		return false
	}
	c, _ := d.want.table.Column(k.Parts[0].Column)
	return !c.GeneratedKey()
}

// adjust gives an unchanged index its name, and shows or hides it.
func (d *differ) adjust(x, want index) {
	if x.Name != want.Name {
		d.keys = append(d.keys, "RENAME INDEX "+schema.Quote(x.Name)+" TO "+schema.Quote(want.Name))
	}
	if x.Visible != want.Visible {
		words := map[bool]string{true: " VISIBLE", false: " INVISIBLE"}
		if d.version.MariaDB {
			words = map[bool]string{true: " NOT IGNORED", false: " IGNORED"}
		}
		d.keys = append(d.keys, "ALTER INDEX "+schema.Quote(want.Name)+words[want.Visible])
	}
}
