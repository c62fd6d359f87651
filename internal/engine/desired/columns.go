package desired

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// pair is a column of the file, and the table's column that it continues.
type pair struct {
	from, to schema.Column
	fresh    bool // it continues no column
}

// pair finds which column continues which: by the operator's map, else by the name.
func (d *differ) pair() {
	d.checkMap()
	for _, to := range d.want.table.Columns {
		if to.GeneratedKey() {
			continue
		}
		p := pair{to: to}
		old, said := d.said(to.Name)
		if !said {
			old = to.Name
		}
		from, there := d.have.table.Column(old)
		if !said && there && d.continued(to.Name) {
			there = false // continues under another name
		}
		if said && (!there || d.alias(old)) { // an earlier run renamed it
			from, there = d.have.table.Column(to.Name)
		}
		if p.fresh = !there; there {
			p.from = from
		}
		d.pairs = append(d.pairs, p)
	}
	var added []schema.Column
	for i, p := range d.pairs {
		if p.fresh {
			added = append(added, p.to)
			d.continues[p.to.Name] = ""
			continue
		}
		if p.from.Name != p.to.Name {
			d.renamed[fold(p.from.Name)], d.continues[p.to.Name] = p.to.Name, p.from.Name
		}
		d.pairs[i].fresh = d.replaced(p)
	}
	for _, c := range d.have.table.Columns {
		if (!c.GeneratedKey() || d.ownPrimary()) && !slices.ContainsFunc(d.pairs, func(p pair) bool { return p.from.Name == c.Name }) {
			d.dropped = append(d.dropped, c)
		}
	}
	d.replaceComputed()
	d.askRenames(added)
}

// replaceComputed drops and adds generated columns that are computed from a dropped column:
// otherwise the server refuses to drop that column.
func (d *differ) replaceComputed() {
	gone := map[string]bool{}
	for _, c := range d.dropped {
		gone[fold(c.Name)] = true
	}
	for again := true; again; {
		again = false
		for i, p := range d.pairs {
			if p.fresh {
				gone[fold(p.from.Name)] = true
				continue
			}
			_, t := plain(p.from.Expression)
			computed := slices.ContainsFunc(t, func(t token.Token) bool { return t.Kind == token.Quoted && gone[fold(t.Text)] })
			if computed && p.to.Generated != schema.NotGenerated {
				d.pairs[i].fresh, again = true, true
			}
		}
	}
}

// said is what the operator's map has for a column of the file.
func (d *differ) said(name string) (old string, said bool) {
	for fresh, old := range d.says {
		if strings.EqualFold(fresh, name) {
			return old, true
		}
	}
	return "", false
}

// checkMap compares the operator's map with both definitions. What an earlier run has done already
// is no mistake.
func (d *differ) checkMap() {
	for fresh, old := range d.says {
		flag := d.argument(old, fresh)
		_, wanted := d.want.table.Column(fresh)
		_, there := d.have.table.Column(fresh)
		was, oldThere := d.have.table.Column(old)
		alias, stays := d.want.table.Column(old)
		stays = stays && alias.Generated == schema.NotGenerated // else a new column has its old name
		switch {
		case !wanted:
			d.refuse(CodeRename, fmt.Sprintf("%s: the file's table has no column %s", flag, fresh), "", "")
		case old == "" || strings.EqualFold(old, fresh) || there && !oldThere:
		case there && !stays && was.Generated != schema.NotGenerated: // renamed by an earlier run
		case there:
			d.refuse(CodeRename, fmt.Sprintf("%s: the table has both columns", flag), "", "")
		case !oldThere:
			d.refuse(CodeRename, fmt.Sprintf("%s: the table has no column %s", flag, old), "", "")
		case stays:
			d.refuse(CodeRename, fmt.Sprintf("%s: the file has column %s too, so this is not a rename", flag, old), "", "")
		}
	}
}

// continued reports whether the operator's map makes another column continue the table's column.
func (d *differ) continued(old string) bool {
	return slices.ContainsFunc(d.want.table.Columns, func(c schema.Column) bool {
		from, said := d.said(c.Name)
		return said && strings.EqualFold(from, old) && !strings.EqualFold(c.Name, old) && !d.alias(old)
	})
}

// alias reports whether the table has a generated column of the name. It has one after a rename
// that keeps the old name for a generated column.
func (d *differ) alias(name string) bool {
	c, there := d.have.table.Column(name)
	return there && c.Generated != schema.NotGenerated
}

// askRenames refuses to guess whether an added column continues a dropped one. Generated columns
// hold nothing that could be lost.
func (d *differ) askRenames(added []schema.Column) {
	var gone []string
	for _, c := range d.dropped {
		if c.Generated == schema.NotGenerated {
			gone = append(gone, c.Name)
		}
	}
	for _, p := range d.pairs {
		if p.from.Name != "" && p.from.Generated == schema.NotGenerated && p.to.Generated != schema.NotGenerated &&
			!slices.Contains(gone, p.from.Name) {
			// Its name stays, for a column that holds nothing.
			gone = append(gone, p.from.Name)
		}
	}
	var flags, came []string
	for _, c := range added {
		if _, said := d.said(c.Name); said || c.Generated != schema.NotGenerated {
			continue
		}
		came = append(came, c.Name)
		var ways []string
		for _, old := range gone {
			ways = append(ways, d.argument(old, c.Name))
		}
		flags = append(
			flags,
			fmt.Sprintf("for column %s: %s, or %s if it is new", c.Name, strings.Join(ways, " or "), d.argument("", c.Name)),
		)
	}
	if len(gone) > 0 && len(came) > 0 {
		d.refuse(CodeRename, fmt.Sprintf("%s would be dropped and %s added", columnsText(gone), columnsText(came)),
			"it may be a rename, and the names alone do not show it", "Use "+strings.Join(flags, "; "))
	}
}

func columnsText(names []string) string {
	if len(names) == 1 {
		return "column " + names[0]
	}
	return "columns " + strings.Join(names, ", ")
}

// replaced reports whether the server can't convert one column into the other: it is dropped and
// added. A generated column holds nothing of its own.
func (d *differ) replaced(p pair) bool {
	from, to := p.from.Generated, p.to.Generated
	if from == to {
		return false
	}
	switch {
	case from == schema.NotGenerated:
		d.warn(CodeLoses, fmt.Sprintf("column %s becomes generated: its values are lost", p.from.Name), "", "")
		return to == schema.Virtual
	case from == schema.Virtual && to == schema.NotGenerated:
		d.refuse(CodeComputed, fmt.Sprintf("column %s is a virtual generated column, and would become a normal column", p.from.Name),
			"the server cannot convert one into the other", "Make it STORED first, in a separate run")
		return false
	}
	return to != schema.NotGenerated
}

// columns makes the clauses that drop, change, move and add columns.
func (d *differ) columns() {
	for _, c := range d.dropped {
		d.drops = append(d.drops, "DROP COLUMN "+schema.Quote(c.Name))
		if c.Generated == schema.NotGenerated {
			d.warn(CodeLoses, fmt.Sprintf("column %s and its values are dropped", c.Name), "the file doesn't have it", "")
		}
	}
	stays := d.stays()
	last := 0 // only new columns follow it
	for i := range d.pairs {
		if stays[i] {
			last = i
		}
	}
	for i, p := range d.pairs {
		if p.fresh && p.from.Name != "" {
			d.drops = append(d.drops, "DROP COLUMN "+schema.Quote(p.from.Name))
			d.continues[p.to.Name] = ""
		}
		place := ""
		switch {
		case stays[i], i > last && d.onlyFresh(i):
		case i == 0:
			place = " FIRST"
		default:
			place = " AFTER " + schema.Quote(d.pairs[i-1].to.Name)
		}
		d.column(p, place)
	}
}

// onlyFresh reports whether from i on all columns are new: the server puts them at the end.
func (d *differ) onlyFresh(i int) bool {
	return !slices.ContainsFunc(d.pairs[i:], func(p pair) bool { return !p.fresh })
}

// column makes the clause of one column.
func (d *differ) column(p pair, place string) {
	name, old := schema.Quote(p.to.Name), schema.Quote(p.from.Name)
	definition, _ := plain(p.to.Definition)
	differs := canonical(p.from) != canonical(p.to)
	switch {
	case p.fresh:
		d.changes = append(d.changes, "ADD COLUMN "+name+" "+definition+place)
		return
	case p.from.Name != p.to.Name && !differs && place == "" && !d.lacksRename():
		d.changes = append(d.changes, "RENAME COLUMN "+old+" TO "+name)
	case p.from.Name != p.to.Name && !(d.exact && d.gainsDefault(p.to)):
		d.changes = append(d.changes, "CHANGE COLUMN "+old+" "+name+" "+definition+place)
	case place == "" && d.losesDefault(p):
		d.changes = append(d.changes, "ALTER COLUMN "+name+" DROP DEFAULT")
	case d.exact && (differs || place != "" || p.from.Name != p.to.Name) && d.gainsDefault(p.to):
		d.reasons = append(d.reasons, plan.Risk{What: "the server would give column " + p.to.Name + " a default, and it has none, not even NULL"})
	case differs || place != "":
		d.changes = append(d.changes, "MODIFY COLUMN "+name+" "+definition+place)
	}
}

// gainsDefault reports whether the server gives a column a default that its definition lacks: it had one once. MySQL shows no
// default of a TEXT or BLOB that may be NULL.
func (d *differ) gainsDefault(c schema.Column) bool {
	old := !d.version.MariaDB && !d.version.AtLeast(8, 0, 0)
	switch {
	case c.Default != "" || c.Generated != schema.NotGenerated:
		return false
	case !c.Nullable:
		return old && c.DataType == "timestamp" // explicit_defaults_for_timestamp may be OFF
	}
	return d.version.MariaDB || !slices.ContainsFunc([]string{"text", "blob", "json", "geom", "point", "linestring", "polygon", "vector"},
		func(kind string) bool { return strings.Contains(c.DataType, kind) })
}

// losesDefault reports whether a column only loses its default, and a MODIFY without one would give it another one.
func (d *differ) losesDefault(p pair) bool {
	if p.from.Name != p.to.Name || p.from.Default == "" || !d.gainsDefault(p.to) {
		return false
	}
	without := p.from
	without.Definition = strings.Replace(without.Definition, " DEFAULT "+p.from.Default, "", 1)
	return canonical(without) == canonical(p.to)
}

// lacksRename reports whether the server has no RENAME COLUMN.
func (d *differ) lacksRename() bool { return !d.version.MariaDB && !d.version.AtLeast(8, 0, 0) }

// canonical is a definition with its charset written out, whatever the table's default is.
func canonical(c schema.Column) string {
	text, t := plain(c.Definition)
	var b strings.Builder
	for i := 0; i < len(t); i++ {
		switch {
		case t[i].Depth == 0 && t[i].Is("CHARACTER") && i+2 < len(t) && t[i+1].Is("SET"):
			i += 2
		case t[i].Depth == 0 && t[i].Is("COLLATE"):
			i++
		default:
			b.WriteString(text[t[i].Start:t[i].End] + " ")
		}
	}
	return b.String() + c.Charset + " " + c.Collation
}

// stays finds the most columns that need not be moved: the longest part of the file's order that
// the table has in the same order.
func (d *differ) stays() []bool {
	n := len(d.pairs)
	length, before := make([]int, n), make([]int, n)
	best := -1
	for i, p := range d.pairs {
		before[i] = -1
		if p.fresh {
			continue
		}
		length[i] = 1
		for j := range i {
			if !d.pairs[j].fresh && d.pairs[j].from.Ordinal < p.from.Ordinal && length[j]+1 > length[i] {
				length[i], before[i] = length[j]+1, j
			}
		}
		if best < 0 || length[i] > length[best] {
			best = i
		}
	}
	stays := make([]bool, n)
	for i := best; i >= 0; i = before[i] {
		stays[i] = true
	}
	return stays
}
