package schema

import (
	"strings"
	"testing"
)

// TestL8_FormerSourceIsNoArtefact: whatever its comment was, an old table is not removed with a
// run's artefacts.
func TestL8_FormerSourceIsNoArtefact(t *testing.T) {
	source := Name{"shop", "orders"}
	for comment, want := range map[string]bool{
		MarkFor("shadow", source): true, MarkFor("state", source): true,
		MarkOld(source, ""): false, MarkDropped(source, ""): false, MarkFor("dropped", source): false, MarkOld(source, "all of shop.orders"): false, MarkFor("old", source): false,
		MarkFor("shadow", Name{"shop", "x of shop.orders"}): false, "all of shop.orders": false, "": false,
	} {
		if got := MarkedFor(comment, source); got != want {
			t.Errorf("%q: %t", comment, got)
		}
	}
}

// TestU5_TheMarkNamesTheTableOfValues: whatever names and comment a mark has, it is the mark of an old table, and all of them are read.
func TestU5_TheMarkNamesTheTableOfValues(t *testing.T) {
	source := Name{"shop", "orders"}
	for _, name := range []string{"", "mine"} {
		for _, values := range []ParkedValues{
			{}, {Now: "orders_parked_values"}, {Next: "orders_parked_values"}, {Now: "orders_parked_values2", Next: "orders_parked_values"},
		} {
			for _, was := range []string{"", "of orders", "; values: x", "; named: y; it was: z", strings.Repeat("ü", MaxComment)} {
				mark := MarkOldWith(source, name, values, was)
				kept, marked := MarkedOld(mark, source)
				if !marked || !strings.HasPrefix(was, kept) || len(was) < 100 && kept != was || !IsMarkOld(mark, source, was) {
					t.Errorf("%q: %t, the former comment is %q", mark, marked, kept)
				}
				if NamedOld(mark, source) != name || ValuesOfOld(mark, source) != values {
					t.Errorf("%q: the names are %q and %q", mark, NamedOld(mark, source), ValuesOfOld(mark, source))
				}
				if of, was, is := SourceOfAside(mark, "shop"); of != source || was != kept || !is || MarkedFor(mark, source) {
					t.Errorf("%q is of %v, %q, %t", mark, of, was, is)
				}
				if _, is := MarkedOld(mark, Name{"shop", "order"}); is {
					t.Errorf("%q is a mark of another table", mark)
				}
			}
		}
	}
}

// TestL11_DefinitionsThatOneServerShowsInTwoWays: MySQL 5.7 shows a name in an expression with or
// without backticks, depending on the session that opened the table.
func TestL11_DefinitionsThatOneServerShowsInTwoWays(t *testing.T) {
	const quoted = "CREATE TABLE `t` (\n  `a` int(11),\n  `g` int(11) GENERATED ALWAYS AS ((`a` DIV 10)) VIRTUAL COMMENT 'of `a`, it''s \\'`a`'\n)"
	for _, c := range []struct {
		old, new string
		same     bool
	}{
		{"(`a` DIV", "(a DIV", true},
		{"(`a` DIV", "(`b` DIV", false},
		{"of `a`", "of a", false},
		{"s \\'`a`", "s \\'a", false},
		{"`a` int", "`a b` int", false},
	} {
		for _, name := range []string{"t", "it's", "``"} { // a quote in a name begins no text
			create := strings.Replace(quoted, "`t`", "`"+name+"`", 1)
			if other := strings.Replace(create, c.old, c.new, 1); SameDefinition(create, other) != c.same {
				t.Errorf("%s in place of %s, in a table named %s: not %v", c.new, c.old, name, c.same)
			}
		}
	}
}
