package desired

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// check is a CHECK constraint of a statement.
type check struct {
	name  string // "" if the server chooses
	alias string // on the scratch table
}

// scratch is the statement for a scratch table, which has no foreign keys.
type scratch struct {
	text    string
	comment string // the table's; its place has the mark
	checks  []check
	foreign []string // clauses of the foreign keys, verbatim
}

// edit replaces bytes of a text.
type edit struct {
	start, end int
	text       string
}

// checkNames are the CHECK constraints whose names are unique in a database.
type checkNames int

const (
	noCheck    checkNames = iota // the server ignores CHECK
	tableCheck                   // MariaDB: the CHECK of a column has no name
	everyCheck
)

// rewriter makes a scratch statement of a statement.
type rewriter struct {
	*Statement
	name       schema.Name
	namesCheck checkNames
	edits      []edit
	made       scratch
}

// rewrite returns the statement for a table of another name, with the mark in place of the comment,
// and without foreign keys, because their names are unique in a database. Names of CHECK
// constraints are unique too, so they get other names; servers that ignore CHECK don't need that.
// Every line keeps its number, because the server reports the line of a mistake.
func (s *Statement) rewrite(name schema.Name, mark string, namesCheck checkNames) (scratch, error) {
	r := rewriter{Statement: s, name: name, namesCheck: namesCheck}
	open := s.tokens[s.open].CommentStart
	r.replace(0, open, "CREATE TABLE "+name.Quoted()+" ")
	if err := r.body(); err != nil {
		return scratch{}, err
	}
	if err := r.comment(schema.Literal(mark)); err != nil {
		return scratch{}, err
	}
	slices.SortStableFunc(r.edits, func(a, b edit) int { return a.start - b.start })
	done := 0
	for _, e := range r.edits {
		r.made.text += s.Text[done:e.start] + e.text
		done = e.end
	}
	r.made.text += s.Text[done:]
	return r.made, nil
}

// replace notes an edit that keeps the lines.
func (r *rewriter) replace(start, end int, text string) {
	r.edits = append(r.edits, edit{start, end, text + strings.Repeat("\n", strings.Count(r.Text[start:end], "\n"))})
}

// body checks the clauses between the parentheses.
func (r *rewriter) body() error {
	clauses := token.List(r.tokens[r.open+1 : r.close])
	kept := false
	for i, c := range clauses {
		if len(c) == 0 {
			return fmt.Errorf("%s: there is an extra comma", r.Name)
		}
		if !isForeign(c) {
			kept = true
			if err := r.clause(c); err != nil {
				return err
			}
			continue
		}
		if slices.ContainsFunc(c, func(t token.Token) bool { return t.Executable != 0 }) {
			return fmt.Errorf("%s: a foreign key is in an executable comment", r.Name)
		}
		start, end := c[0].Start, c[len(c)-1].End
		r.made.foreign = append(r.made.foreign, r.Text[start:end])
		switch {
		case kept: // with the comma before it
			start = clauses[i-1][len(clauses[i-1])-1].CommentEnd
		case i+1 < len(clauses) && len(clauses[i+1]) > 0: // or the comma after it
			end = clauses[i+1][0].CommentStart
		}
		r.replace(start, end, "")
	}
	return nil
}

// isForeign reports whether a clause is [CONSTRAINT [name]] FOREIGN KEY ...
func isForeign(c []token.Token) bool {
	for i := range min(3, len(c)) {
		if c[i].Is("FOREIGN") {
			return i == 0 || c[0].Is("CONSTRAINT")
		}
	}
	return false
}

// clause checks a column or a key for names that can't exist twice in a database.
func (r *rewriter) clause(c []token.Token) error {
	for i, t := range c {
		if t.Depth != 1 {
			continue
		}
		if t.Is("REFERENCES") {
			return fmt.Errorf(
				"%s: column %s has REFERENCES, which servers before 9.0 ignore: write FOREIGN KEY (%[2]s) REFERENCES and the rest",
				r.Name, c[0].Text,
			)
		}
		if !t.Is("CHECK") || r.namesCheck == tableCheck && !c[0].Is("CHECK") && !c[0].Is("CONSTRAINT") {
			continue
		}
		k := check{alias: fmt.Sprintf("%s_%d", r.name.Table, len(r.made.checks))}
		start := t.Start
		switch {
		case i > 0 && c[i-1].Is("CONSTRAINT"):
			start = c[i-1].Start
		case i > 1 && c[i-2].Is("CONSTRAINT"):
			k.name, start = c[i-1].Text, c[i-2].Start
		}
		r.made.checks = append(r.made.checks, k)
		if r.namesCheck != noCheck {
			r.replace(start, t.Start, "CONSTRAINT "+schema.Quote(k.alias)+" ")
		}
	}
	return nil
}

// comment puts the mark in place of the table's comment.
func (r *rewriter) comment(mark string) error {
	r.edits = append(r.edits, edit{r.tokens[r.close].End, r.tokens[r.close].End, " COMMENT " + mark})
	for i := r.close + 1; i < len(r.tokens); i++ {
		t := r.tokens[i]
		if t.Depth != 0 || !t.Is("COMMENT") {
			continue
		}
		value := i + 1
		if value < len(r.tokens) && r.tokens[value].Is("=") {
			value++
		}
		if value >= len(r.tokens) || r.tokens[value].Kind != token.String {
			continue // the server will report it
		}
		if t.Executable > token.ExecutedByAll {
			return fmt.Errorf(
				"%s: the table's comment is in an executable comment for version %d, which the server may skip",
				r.Name, t.Executable,
			)
		}
		r.made.comment = r.tokens[value].Text
		r.replace(r.tokens[value].Start, r.tokens[value].End, mark)
	}
	return nil
}
