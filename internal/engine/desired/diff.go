package desired

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// The codes of what a diff refuses, and of what its ALTER loses.
const (
	CodeRename   plan.Code = "rename"
	CodeForeign  plan.Code = "foreign-key"
	CodeOption   plan.Code = "option"
	CodeComputed plan.Code = "generated"
	CodeLoses    plan.Code = "drops-column"
)

// side is one of two definitions that are compared.
type side struct {
	table   *schema.Table
	comment string
	// The names are those that the constraints have, or are to have: "" if the server chooses.
	checks  []schema.Check
	foreign []foreignKey
}

// sideOf is an existing table.
func sideOf(table *schema.Table) side {
	s := side{table: table, comment: table.Comment, checks: table.Checks}
	for _, text := range table.ForeignClauses {
		s.foreign = append(s.foreign, readForeign(text, table.Name))
	}
	return s
}

// differ finds the ALTER that leads from one definition to the other. It is pure.
type differ struct {
	have, want side
	says       map[string]string // the map: new column to old
	argument   func(old, fresh string) string
	fold       bool // table names ignore letter case
	version    plan.Version
	exact      bool // refuse what leads to another default

	pairs   []pair
	dropped []schema.Column
	renamed map[string]string // old name, folded, to new name

	drops, changes, keys, checks, options []string // clauses

	continues map[string]string // new column to old, or ""
	reasons   []plan.Risk       // to refuse
	risks     []plan.Risk
	notes     []string
}

// diff compares the definitions. Its clauses are those of one ALTER TABLE, "" if nothing is to be
// done.
func (d *differ) diff() (clauses string) {
	d.renamed, d.continues = map[string]string{}, map[string]string{}
	d.pair()
	for i := range d.have.foreign {
		d.have.foreign[i] = d.renamedIn(d.have.foreign[i])
	}
	d.foreign()
	d.columns()
	d.indexes()
	d.constraints()
	d.tableOptions()
	clauses = strings.Join(slices.Concat(d.drops, d.changes, d.keys, d.checks, d.options), ", ")
	return strings.TrimSpace(clauses + d.partitions())
}

// refuse notes a reason why no ALTER can be made.
func (d *differ) refuse(code plan.Code, what, why, fix string) {
	d.reasons = append(d.reasons, plan.Risk{Code: code, What: what, Why: why, Fix: fix, Blocking: true})
}

// warn notes what else the ALTER does.
func (d *differ) warn(code plan.Code, what, why, fix string) {
	d.risks = append(d.risks, plan.Risk{Code: code, What: what, Why: why, Fix: fix})
}

// fold makes names of columns and indexes comparable.
func fold(name string) string { return strings.ToLower(name) }

// now is the name that a column of the table will have.
func (d *differ) now(name string) string {
	if fresh, is := d.renamed[fold(name)]; is {
		return fresh
	}
	return name
}

func (d *differ) renamedIn(k foreignKey) foreignKey {
	rename := func(names []string) []string {
		var all []string
		for _, name := range names {
			all = append(all, d.now(name))
		}
		return all
	}
	k.columns = rename(k.columns)
	if k.parent == d.have.table.Name {
		k.refers = rename(k.refers)
	}
	return k
}

// plain is a definition without comments, and its tokens.
func plain(definition string) (string, []token.Token) {
	t, _ := token.Split(definition)
	text := token.Plain(definition, t)
	t, _ = token.Split(text)
	return text, t
}

// constraints pairs CHECK constraints by their clauses.
func (d *differ) constraints() {
	same := func(a, b schema.Check) bool { return a.Clause == b.Clause && a.Enforced == b.Enforced }
	left := slices.Clone(d.have.checks)
	take := func(is func(schema.Check) bool) (schema.Check, bool) {
		i := slices.IndexFunc(left, is)
		if i < 0 {
			return schema.Check{}, false
		}
		found := left[i]
		left = slices.Delete(left, i, i+1)
		return found, true
	}
	type kept struct{ have, want schema.Check }
	var keep []kept
	var missing, add []schema.Check
	for _, want := range d.want.checks { // first pairs with equal names
		if found, is := take(func(c schema.Check) bool { return same(c, want) && strings.EqualFold(c.Name, want.Name) }); is {
			keep = append(keep, kept{found, want})
		} else {
			missing = append(missing, want)
		}
	}
	for _, want := range missing {
		if found, is := take(func(c schema.Check) bool { return same(c, want) }); is {
			keep = append(keep, kept{found, want})
		} else if found, is := take(func(c schema.Check) bool { return c.Clause == want.Clause }); is {
			keep = append(keep, kept{found, want})
		} else {
			add = append(add, want)
		}
	}
	for i := 0; i < len(add); i++ { // free the names that are needed
		holder := slices.IndexFunc(keep, func(k kept) bool { return add[i].Name != "" && strings.EqualFold(k.have.Name, add[i].Name) })
		if holder >= 0 {
			left, add = append(left, keep[holder].have), append(add, keep[holder].want)
			keep = slices.Delete(keep, holder, holder+1)
		}
	}
	for _, k := range keep {
		if k.have.Enforced != k.want.Enforced {
			d.checks = append(d.checks, "ALTER CHECK "+schema.Quote(k.have.Name)+enforced(k.want))
		}
		if k.want.Name != "" && !strings.EqualFold(k.have.Name, k.want.Name) {
			d.notes = append(
				d.notes,
				fmt.Sprintf(
					"CHECK %s of the file is named %s on the server: names of CHECK constraints are not compared",
					k.want.Name, k.have.Name,
				),
			)
		}
	}
	for _, c := range left {
		word := "CHECK "
		if d.version.MariaDB {
			word = "CONSTRAINT "
		}
		d.checks = append(d.checks, "DROP "+word+schema.Quote(c.Name))
	}
	for _, c := range add {
		clause := "ADD "
		if c.Name != "" {
			clause += "CONSTRAINT " + schema.Quote(c.Name) + " "
		}
		clause += "CHECK (" + c.Clause + ")"
		if !c.Enforced {
			clause += enforced(c)
		}
		d.checks = append(d.checks, clause)
	}
}

func enforced(c schema.Check) string {
	if c.Enforced {
		return " ENFORCED"
	}
	return " NOT ENFORCED"
}

// partitions compares how the rows are divided. Its clause is the last one, after no comma.
func (d *differ) partitions() string {
	switch have, want := d.have.table.Partitioning, d.want.table.Partitioning; {
	case have == want:
		return ""
	case want == "":
		return " REMOVE PARTITIONING"
	default:
		return " " + want
	}
}
