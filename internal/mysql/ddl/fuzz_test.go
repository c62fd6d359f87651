package ddl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"midstream/internal/mysql/schema"
)

// seeds adds every case of the golden files.
func seeds(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range strings.Split(string(content), "\n====\n") {
			text, _, _ := strings.Cut(c, "\n----\n")
			f.Add(text)
		}
	}
}

// FuzzParse holds for any text: nothing panics; an error is an ErrNotAlter; the clauses are
// verbatim; the parser and the scan agree if both can read the text; and the statement for another
// table reads the same.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrNotAlter) {
				t.Fatalf("not an ErrNotAlter: %v", err)
			}
			return
		}
		if !strings.Contains(text, a.Clauses) || a.Clauses == "" {
			t.Fatalf("clauses %q are not verbatim", a.Clauses)
		}
		if a.Parsed != (a.Unparsed == "") || a.Parsed && len(a.Unknown) > 0 {
			t.Fatalf("parsed %v, unparsed %q, unknown %q", a.Parsed, a.Unparsed, a.Unknown)
		}
		if utf8.ValidString(text) && a.Unparsed == disagree {
			t.Fatalf("%s: %s", disagree, show(a))
		}
		for _, c := range a.Checks {
			if got := a.Clauses[c.Start:c.End]; got != c.Name && !strings.HasPrefix(got, "`") {
				t.Fatalf("check %q has its place at %q", c.Name, got)
			}
		}
		other := schema.Name{Schema: "a`b", Table: "c d"}
		again, err := Parse(a.Restore(other))
		if err != nil {
			t.Fatalf("restored statement: %v", err)
		}
		if again.Table != other {
			t.Fatalf("restored statement is for %v", again.Table)
		}
		again.Table = a.Table
		if show(again) != show(a) {
			t.Fatalf("restored statement reads otherwise:\n%s\n%s", show(a), show(again))
		}
	})
}

// FuzzRefers looks for panics only.
func FuzzRefers(f *testing.F) {
	content, err := os.ReadFile("testdata/refers.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, line := range strings.Split(string(content), "\n") {
		f.Add(line[strings.LastIndex(line, "\t")+1:], "shop")
	}
	f.Fuzz(func(t *testing.T, text, in string) {
		if e := Refers(text, in, orders); e < None || e > Unknown {
			t.Fatalf("effect %d", e)
		}
	})
}

// FuzzParseStatement holds for any text: nothing panics; an error is one of the two; a statement
// read as an ALTER is one; a definition is verbatim, and its constraints are at the reported
// places.
func FuzzParseStatement(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseStatement(text)
		if err != nil {
			if !errors.Is(err, ErrNotTaken) && !errors.Is(err, ErrNotAlter) {
				t.Fatalf("neither an ErrNotTaken nor an ErrNotAlter: %v", err)
			}
			return
		}
		if len(s.Tables()) == 0 || s.Tables()[0].Table == "" {
			t.Fatal("no table")
		}
		if s.Kind == KindAlter {
			restored := s.Alter.Restore(schema.Name{Schema: "a`b", Table: "c d"})
			if _, err := Parse(restored); err != nil {
				t.Fatalf("%s: %v", restored, err)
			}
		}
		if !strings.Contains(text, s.Definition) {
			t.Fatalf("definition %q is not verbatim", s.Definition)
		}
		for _, c := range s.Constraints {
			if got := s.Definition[c.Start:c.End]; got != c.Name && !strings.HasPrefix(got, "`") {
				t.Fatalf("constraint %q has its place at %q", c.Name, got)
			}
		}
	})
}
