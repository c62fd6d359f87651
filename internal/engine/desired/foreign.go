package desired

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// foreignKey is a foreign key, read from its clause.
type foreignKey struct {
	name    string // "" if the server chooses
	columns []string
	parent  schema.Name
	refers  []string
	// actions are such as "ON DELETE CASCADE"; RESTRICT and NO ACTION are the default.
	actions string
	text    string
}

// readForeign reads a clause of a statement or of SHOW CREATE TABLE.
func readForeign(text string, table schema.Name) foreignKey {
	t, _ := token.Split(text)
	k := foreignKey{text: token.Plain(text, t), parent: table}
	i := 0
	next := func() token.Token {
		if i++; i <= len(t) {
			return t[i-1]
		}
		return token.Token{}
	}
	list := func() (names []string) {
		for i < len(t) && !t[i-1].Is(")") {
			if k := next(); k.Name() {
				names = append(names, k.Text)
			}
		}
		return names
	}
	for i < len(t) {
		switch word := next(); {
		case word.Is("CONSTRAINT") && i < len(t) && !t[i].Is("FOREIGN"):
			k.name = next().Text
		case word.Is("KEY"):
			if i < len(t) && t[i].Name() {
				// It is the index's name. The server's version decides whether the constraint gets
				// it.
				next()
			}
			next()
			k.columns = list()
		case word.Is("REFERENCES"):
			k.parent.Table = next().Text
			if i < len(t) && t[i].Is(".") {
				next()
				k.parent = schema.Name{Schema: k.parent.Table, Table: next().Text}
			}
			next()
			k.refers = list()
		case word.Is("ON") && i < len(t):
			event, action := next(), ""
			for i < len(t) && !t[i].Is("ON") && !t[i].Is("MATCH") {
				action += " " + strings.ToUpper(next().Text)
			}
			if action != " RESTRICT" && action != " NO ACTION" {
				k.actions += " ON " + strings.ToUpper(event.Text) + action
			}
		}
	}
	return k
}

// same reports whether two clauses mean the same. A name counts only if both have one.
func (k foreignKey) same(other foreignKey, fold bool) bool {
	parent := k.parent == other.parent || fold && strings.EqualFold(k.parent.String(), other.parent.String())
	return parent && k.sortedActions() == other.sortedActions() && (k.name == "" || other.name == "" || strings.EqualFold(k.name, other.name)) &&
		slices.EqualFunc(k.columns, other.columns, strings.EqualFold) &&
		slices.EqualFunc(k.refers, other.refers, strings.EqualFold)
}

// sortedActions are the actions in one order, whatever order the clause has.
func (k foreignKey) sortedActions() string {
	parts := strings.Split(k.actions, " ON ")
	slices.Sort(parts)
	return strings.Join(parts, " ON ")
}

// foreign refuses foreign keys that differ.
func (d *differ) foreign() {
	left := slices.Clone(d.have.foreign)
	for _, want := range d.want.foreign {
		i := slices.IndexFunc(left, func(k foreignKey) bool { return k.same(want, d.fold) })
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		d.refuse(CodeForeign, fmt.Sprintf("the table lacks %s", want.text), "a run compares foreign keys, and does not change them",
			fmt.Sprintf("Add it natively: ALTER TABLE %s ADD %s", d.have.table.Name.Quoted(), want.text))
	}
	for _, k := range left {
		d.refuse(
			CodeForeign,
			fmt.Sprintf("the file has no %s", k.text),
			"a run compares foreign keys, and does not change them",
			fmt.Sprintf(
				"Write it into the file, or drop it natively: ALTER TABLE %s DROP FOREIGN KEY %s",
				d.have.table.Name.Quoted(), schema.Quote(k.name),
			),
		)
	}
}

// needed reports whether a foreign key of the table needs an index that the file doesn't name: the
// server has made it by itself.
func (d *differ) needed(k schema.Key) bool {
	for _, f := range d.have.foreign {
		if begins(k, f.columns) && !slices.ContainsFunc(d.want.table.Keys, func(k schema.Key) bool { return begins(k, f.columns) }) {
			return true
		}
	}
	return false
}

// begins reports whether the index begins with the columns.
func begins(k schema.Key, columns []string) bool {
	if len(k.Parts) < len(columns) {
		return false
	}
	for i, c := range columns {
		if !strings.EqualFold(k.Parts[i].Column, c) || k.Parts[i].Prefix > 0 {
			return false
		}
	}
	return true
}
