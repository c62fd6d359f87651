package ddl

import (
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// NewForeign is a foreign key that the statement adds by a clause of its own. Names have the statement's spelling.
type NewForeign struct {
	Constraint    string // "" where the server chooses
	Index         string // as FOREIGN KEY names it; "" if it does not
	Columns       []string
	Parent        schema.Name // Schema is "" where the statement does not name it
	ParentColumns []string
	// OnDelete and OnUpdate are in capitals; "" leaves them to the server.
	OnDelete, OnUpdate string
}

// ForeignAdded are the foreign keys that the statement adds. read is false if it cannot be read which: a column's REFERENCES, a list
// in parentheses, MATCH, or IF NOT EXISTS.
func (a *Alter) ForeignAdded() (added []NewForeign, read bool) {
	if !a.AddsForeignKey {
		return nil, true
	}
	read = a.eachClause(func(w words, text string) bool {
		k, is, clear := readForeign(w)
		if is && clear {
			added = append(added, k)
			return true
		}
		part, err := ParseClauses(a.Table, text)
		return err == nil && !part.AddsForeignKey && !is
	})
	return added, read
}

// WithForeign returns the statement with another clause in place of each one that adds a foreign key, by its number; "" leaves it out. The
// result has no clauses if none is left; nil if the clauses cannot be separated.
func (a *Alter) WithForeign(clause func(i int) string) *Alter {
	var kept []string
	n := 0
	if !a.eachClause(func(w words, text string) bool {
		if _, is, _ := readForeign(w); is {
			text = clause(n)
			n++
		}
		if text != "" {
			kept = append(kept, text)
		}
		return true
	}) {
		return nil
	}
	if len(kept) == 0 {
		return &Alter{Table: a.Table, Parsed: true}
	}
	with, err := ParseClauses(a.Table, strings.Join(kept, ", "))
	if err != nil {
		return nil
	}
	return with
}

// eachClause calls do for each clause, as long as it returns true. It reports whether all of them can be separated and do took them.
func (a *Alter) eachClause(do func(w words, text string) bool) bool {
	tokens, closed := token.Split(a.Clauses)
	if !closed {
		return false
	}
	for _, piece := range token.List(tokens) {
		executable := slices.ContainsFunc(piece, func(t token.Token) bool { return t.Executable != 0 })
		if len(piece) == 0 || executable || !do(words(piece), a.Clauses[piece[0].Start:piece[len(piece)-1].End]) {
			return false
		}
	}
	return true
}

// readForeign reads ADD [CONSTRAINT [name]] FOREIGN KEY. clear means that nothing else is in the clause.
func readForeign(w words) (k NewForeign, is, clear bool) {
	if !w.at(0, "ADD") {
		return k, false, false
	}
	w = w[1:]
	if w.at(0, "CONSTRAINT") {
		w = w[1:]
		if !w.begin("FOREIGN", "KEY") && len(w) > 0 && w[0].Name() {
			k.Constraint, w = w[0].Text, w[1:]
		}
	}
	if !w.begin("FOREIGN", "KEY") {
		return k, false, false
	}
	w = w[2:]
	if len(w) > 0 && w[0].Name() && !w.at(0, "IF") {
		k.Index, w = w[0].Text, w[1:]
	}
	var read bool
	if k.Columns, w, read = w.columns(); !read || !w.at(0, "REFERENCES") || len(w) < 3 || !w[1].Name() {
		return k, true, false
	}
	k.Parent.Table, w = w[1].Text, w[2:]
	if w.at(0, ".") && len(w) > 1 && w[1].Name() {
		k.Parent.Schema, k.Parent.Table, w = k.Parent.Table, w[1].Text, w[2:]
	}
	if k.ParentColumns, w, read = w.columns(); !read || len(k.Columns) != len(k.ParentColumns) {
		return k, true, false
	}
	for _, action := range []string{"DELETE", "UPDATE", "DELETE"} {
		if !w.begin("ON", action) {
			continue
		}
		rule := ruleAt(w[2:])
		if action == "DELETE" {
			k.OnDelete = rule
		} else {
			k.OnUpdate = rule
		}
		w = w[2+len(strings.Fields(rule)):]
		if rule == "" {
			return k, true, false
		}
	}
	return k, true, len(w) == 0
}

// ruleAt is the rule at the beginning of the words; "" for none.
func ruleAt(w words) string {
	for _, rule := range []string{"NO ACTION", "RESTRICT", "CASCADE", "SET NULL"} {
		if w.begin(strings.Fields(rule)...) {
			return rule
		}
	}
	return ""
}

// columns reads a list of complete columns in parentheses, and returns the words after it.
func (w words) columns() (names []string, rest words, read bool) {
	if !w.at(0, "(") {
		return nil, w, false
	}
	for w = w[1:]; len(w) > 1 && w[0].Name(); w = w[1:] {
		names, w = append(names, w[0].Text), w[1:]
		if w.at(0, ")") {
			return names, w[1:], true
		}
		if !w.at(0, ",") {
			break
		}
	}
	return nil, w, false
}
