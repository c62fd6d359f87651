package ddl

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestParseStatement: how each kind of statement is read. For statements that are ALTERs it shows
// the ALTER that does the same.
func TestParseStatement(t *testing.T) {
	golden(t, "testdata/statements.txt", func(text string) string {
		s, err := ParseStatement(text)
		if err != nil {
			if !errors.Is(err, ErrNotTaken) && !errors.Is(err, ErrNotAlter) {
				t.Errorf("%s: neither an ErrNotTaken nor an ErrNotAlter: %v", text, err)
			}
			return "error: " + strings.Replace(err.Error(), ErrNotTaken.Error(), "not taken", 1)
		}
		if s.Kind == KindAlter {
			answer := fmt.Sprintf("%s\nParsed: %v %s\n", s.Alter.Restore(s.Alter.Table), s.Alter.Parsed, s.Alter.Unparsed)
			if len(s.Alter.Unknown) > 0 {
				answer += fmt.Sprintf("Unknown: %v\n", s.Alter.Unknown)
			}
			return answer
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s %v\n", s.Kind, s.Tables())
		if s.Conditional {
			b.WriteString("Conditional\n")
		}
		for _, r := range s.Renames {
			fmt.Fprintf(&b, "%s -> %s\n", r.From, r.To)
		}
		if s.Kind == KindCreate {
			if !strings.Contains(text, s.Definition) {
				t.Errorf("%s: the definition is not verbatim: %q", text, s.Definition)
			}
			fmt.Fprintf(&b, "Definition: %s\n", s.Definition)
			if len(s.Constraints) > 0 {
				fmt.Fprintf(&b, "with other names: %s\n", s.DefinitionWith(func(c ConstraintRef) string { return c.Name + "`2" }))
			}
			if len(s.Parents) > 0 {
				fmt.Fprintf(&b, "Parents: %v\n", s.Parents)
			}
		}
		return b.String()
	})
}

// TestStatementIn: names without a database take the given one, and are an error without it.
func TestStatementIn(t *testing.T) {
	for _, c := range []struct{ sql, database, want string }{
		{"RENAME TABLE a TO x.b", "d", "[d.a x.b]"},
		{"RENAME TABLE a TO x.b", "", "the database of a is missing"},
		{"TRUNCATE t", "d", "[d.t]"},
		{"DROP TABLE x.t", "d", "--database names d"},
		{"DROP INDEX i ON t", "d", "[d.t]"},
		{"CREATE TABLE x.t LIKE u", "", "[x.t]"},
	} {
		s, err := ParseStatement(c.sql)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := s.In(c.database); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(s.Tables())
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s in %q: %s, want %s", c.sql, c.database, got, c.want)
		}
	}
}
