package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// FuzzMap: whatever the clauses are and whatever table the server made of them, nothing panics and
// columns are paired one to one. No column of the source is lost silently: it is paired, or the
// statement drops it, or the map fails, or the operator has declared it.
func FuzzMap(f *testing.F) {
	for _, c := range mappingCases {
		f.Add(strings.Join(c.source, ","), c.clauses, strings.Join(c.shadow, ","))
	}
	f.Fuzz(func(t *testing.T, source, clauses, shadow string) {
		from, to := fuzzTable(source), fuzzTable(shadow)
		a, err := ddl.ParseClauses(from.Name, clauses)
		if err != nil || len(from.Columns) == 0 || len(to.Columns) == 0 {
			return
		}
		mappings, err := MapColumns(from, to, a, nil)
		if err != nil {
			return
		}
		taken, given := map[string]bool{}, map[string]bool{}
		for _, m := range mappings {
			if _, ok := from.Column(m.Source); !ok || given[fold(m.Source)] {
				t.Fatalf("column %q of the source is not there, or taken twice: %s", m.Source, pairsText(mappings))
			}
			if _, ok := to.Column(m.Shadow); !ok || taken[fold(m.Shadow)] {
				t.Fatalf("column %q of the shadow is not there, or filled twice: %s", m.Shadow, pairsText(mappings))
			}
			given[fold(m.Source)], taken[fold(m.Shadow)] = true, true
		}
		generated := slices.ContainsFunc(to.Columns, func(c schema.Column) bool { return c.Generated != schema.NotGenerated })
		for _, c := range from.Columns {
			if a.Parsed && !generated && !given[fold(c.Name)] && !contains(a.Dropped, c.Name) {
				t.Fatalf("column %s is lost: %s", c.Name, pairsText(mappings))
			}
		}
	})
}

// FuzzMake: any clauses give a plan, or a refusal with reasons; nothing panics.
func FuzzMake(f *testing.F) {
	for _, c := range mappingCases {
		f.Add(c.clauses)
	}
	for _, clauses := range []string{"ADD UNIQUE (a, b)", "DROP PRIMARY KEY, ADD PRIMARY KEY (a, id)", "MODIFY id VARCHAR(9)", "RENAME TO x",
		"ADD COLUMN n INT AUTO_INCREMENT, ADD KEY (n)", "MODIFY c INT NOT NULL", "DROP PARTITION p", "ADD FOREIGN KEY (a) REFERENCES x (y)"} {
		f.Add(clauses)
	}
	f.Fuzz(func(t *testing.T, clauses string) {
		table := orders(usual, "PRIMARY: id", "UNIQUE a: a", "bc: b, c")
		a, err := ddl.ParseClauses(table.Name, clauses)
		if err != nil {
			return
		}
		p, err := Make(good(), table, a, Options{})
		if err != nil {
			var refused *Refused
			if !errors.As(err, &refused) || len(refused.Blocking) == 0 {
				t.Fatalf("refused without a reason: %v", err)
			}
			return
		}
		if p.Key.Name == "" {
			t.Fatalf("the plan lacks its key: %+v", p)
		}
	})
}

// fuzzTable makes a table out of "name type,name type", and leaves out repeated names.
func fuzzTable(text string) *schema.Table {
	t := &schema.Table{Name: schema.Name{Schema: "shop", Table: "orders"}, Engine: "InnoDB"}
	for _, definition := range strings.Split(text, ",") {
		name, kind, _ := strings.Cut(definition, " ")
		if _, twice := t.Column(name); twice || name == "" {
			continue
		}
		c := column(name + " " + strings.TrimSuffix(kind, "virtual"))
		if strings.HasSuffix(kind, "virtual") {
			c.Generated = schema.Virtual
		}
		c.Ordinal = len(t.Columns)
		t.Columns = append(t.Columns, c)
	}
	return t
}
