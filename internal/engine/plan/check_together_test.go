package plan

import (
	"errors"
	"slices"
	"testing"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TestForeignKeysInsideAGroup: a column of a foreign key may get another type if the table at the other end is swapped in the same step,
// and its column gets the same type.
func TestForeignKeysInsideAGroup(t *testing.T) {
	old := func(f *Facts, _ *schema.Table) { f.Version = Version{Major: 8, Minor: 4} }
	self := func(f *Facts, t *schema.Table) {
		child(f, t)
		t.ForeignKeys[0].Parent = t.Name
	}
	both := func(all ...func(f *Facts, t *schema.Table)) func(f *Facts, t *schema.Table) {
		return func(f *Facts, t *schema.Table) {
			for _, change := range all {
				change(f, t)
			}
		}
	}
	for _, c := range []struct {
		name, clauses string
		// other is the statement of the other table of the group; "" for none. Its table has columns id, x and a.
		other    string
		change   func(f *Facts, t *schema.Table)
		blocking []string
	}{
		{"child alone", "MODIFY a BIGINT", "", child, []string{"foreign-key"}},
		{"child with another table", "MODIFY a BIGINT", "ALTER TABLE shop.z MODIFY id BIGINT", child, []string{"foreign-key"}},
		{"child and parent", "MODIFY a BIGINT", "ALTER TABLE shop.p MODIFY id BIGINT", child, nil},
		{"child and parent, other clauses", "ADD d INT", "ALTER TABLE shop.p ADD d INT", child, nil},
		{"child changes, parent does not", "MODIFY a BIGINT", "ALTER TABLE shop.p ADD d INT", child, []string{"foreign-key"}},
		{"parent changes, child does not", "ADD d INT", "ALTER TABLE shop.p MODIFY id BIGINT", child, []string{"foreign-key"}},
		{"one end unsigned", "MODIFY a BIGINT", "ALTER TABLE shop.p MODIFY id BIGINT UNSIGNED", child, []string{"foreign-key"}},
		{"parent's column renamed", "MODIFY a BIGINT", "ALTER TABLE shop.p CHANGE id pid BIGINT", child, nil},
		{"parent, with its child", "MODIFY id BIGINT", "ALTER TABLE shop.c MODIFY x BIGINT", parent, nil}, // the plan of the child compares both
		{"parent alone", "MODIFY id BIGINT", "", parent, []string{"foreign-key"}},
		{"key that is referred to dropped", "DROP PRIMARY KEY, ADD PRIMARY KEY (a)", "ALTER TABLE shop.c ADD d INT", parent, []string{"referenced", "no-key"}},
		{"to itself, both ends", "MODIFY a BIGINT, MODIFY id BIGINT", "", self, nil},
		{"to itself, one end", "MODIFY a BIGINT", "", self, []string{"foreign-key"}},
		{"CHAR and VARCHAR", "MODIFY b VARCHAR(60)", "ALTER TABLE shop.p MODIFY a CHAR(60)", func(f *Facts, t *schema.Table) {
			child(f, t)
			t.ForeignKeys[0].Columns, t.ForeignKeys[0].ParentColumns = []string{"b"}, []string{"a"}
		}, nil},
		{"column dropped", "DROP a", "ALTER TABLE shop.p MODIFY id BIGINT", child, []string{"foreign-key"}},
		{"cascades that the binlog has", "MODIFY a BIGINT", "ALTER TABLE shop.p MODIFY id BIGINT", both(cascades), nil},
		{"cascades that it lacks", "ADD d INT", "ALTER TABLE shop.p ADD d INT", both(cascades, old), []string{"foreign-key"}},
		{"no acts, before 9.6", "MODIFY a BIGINT", "ALTER TABLE shop.p MODIFY id BIGINT", both(child, old), nil},
		{"a set NULL end that becomes NOT NULL", "MODIFY a BIGINT NOT NULL", "ALTER TABLE shop.p MODIFY id BIGINT", cascades, []string{"foreign-key"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts, table := good(), orders(usual, "PRIMARY: id", "b: b")
			c.change(facts, table)
			options := Options{Method: MethodShadow}
			if c.other != "" {
				statement, err := ddl.Parse(c.other)
				if err != nil {
					t.Fatal(err)
				}
				options.Together = []Partner{{Alter: statement, Table: orders([]string{"id int", "x int", "a int"}, "PRIMARY: id")}}
			}
			p, err := Make(facts, table, alter(t, c.clauses), options)
			var refused *Refused
			if errors.As(err, &refused) != (len(c.blocking) > 0) || err != nil && refused == nil {
				t.Fatalf("error: %v", err)
			}
			if refused != nil {
				if got := codes(refused.Blocking); !slices.Equal(got, c.blocking) {
					t.Errorf("blocking %v, want %v: %v", got, c.blocking, err)
				}
				return
			}
			if c.name == "parent's column renamed" && p.Foreign[0].ParentColumns[0] != "pid" {
				t.Errorf("the foreign key refers to %v", p.Foreign[0].ParentColumns)
			}
			if c.name == "parent, with its child" && len(Carried(p)) > 0 {
				t.Errorf("the parent carries %v, and the child carries it too", Carried(p))
			}
		})
	}
}
