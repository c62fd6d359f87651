package ddl

import (
	"fmt"
	"testing"

	"midstream/internal/mysql/schema"
)

// TestForeignAdded: what is read of a foreign key that a statement adds, and what is left without it.
func TestForeignAdded(t *testing.T) {
	for _, c := range []struct{ clauses, want, rest string }{
		{"ADD FOREIGN KEY (a) REFERENCES p (id)", "[{  [a] p [id]  }]", ""},
		{"ADD x INT, ADD CONSTRAINT `f` FOREIGN KEY i (a, `b`) REFERENCES `s`.p (c, d) ON DELETE SET NULL ON UPDATE no action",
			"[{f i [a b] s.p [c d] SET NULL NO ACTION}]", "ADD x INT"},
		{"add constraint foreign key (a) references p (id) on update cascade on delete restrict, DROP b", "[{  [a] p [id] RESTRICT CASCADE}]", "DROP b"},
		{"ADD x INT", "[]", "ADD x INT"},
		{"ADD x INT REFERENCES p (id)", "-", ""},
		{"ADD (x INT, FOREIGN KEY (x) REFERENCES p (id))", "-", ""},
		{"ADD FOREIGN KEY (a) REFERENCES p (id) MATCH FULL", "-", ""},
		{"ADD FOREIGN KEY (a) REFERENCES p (id) ON DELETE SET DEFAULT", "-", ""},
		{"ADD FOREIGN KEY IF NOT EXISTS f (a) REFERENCES p (id)", "-", ""},
		{"ADD FOREIGN KEY (a) REFERENCES p", "-", ""},
		{"ADD FOREIGN KEY (a) REFERENCES p (id) /*!80000 ON DELETE CASCADE */", "-", ""},
	} {
		a, err := ParseClauses(schema.Name{Table: "t"}, c.clauses)
		if err != nil {
			t.Errorf("%s: %v", c.clauses, err)
			continue
		}
		added, read := a.ForeignAdded()
		got := "-"
		if read {
			var all []string
			for _, k := range added {
				parent := k.Parent.Table
				if k.Parent.Schema != "" {
					parent = k.Parent.Schema + "." + parent
				}
				all = append(all, fmt.Sprintf("{%s %s %s %s %s %s %s}", k.Constraint, k.Index, fmt.Sprint(k.Columns), parent, fmt.Sprint(k.ParentColumns), k.OnDelete, k.OnUpdate))
			}
			got = fmt.Sprint(all)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.clauses, got, c.want)
		}
		if rest := a.WithForeign(func(int) string { return "" }); read && rest.Clauses != c.rest {
			t.Errorf("%s: %q is left, want %q", c.clauses, rest.Clauses, c.rest)
		}
	}
}
