package plan

import (
	"errors"
	"strings"
	"testing"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TestAdviceAboutTheTypeOfAForeignKey: a refusal advises what the server permits. No server gives one end of a foreign key another type.
func TestAdviceAboutTheTypeOfAForeignKey(t *testing.T) {
	maria := func(change func(f *Facts, t *schema.Table)) func(f *Facts, t *schema.Table) {
		return func(f *Facts, t *schema.Table) {
			change(f, t)
			f.Version = Version{Major: 11, Minor: 8, MariaDB: true}
		}
	}
	self := func(f *Facts, t *schema.Table) {
		child(f, t)
		t.ForeignKeys[0].Parent = t.Name
	}
	const again = "Drop the foreign key, change both of its ends, and add it again"
	for _, c := range []struct {
		name, clauses, other string
		change               func(f *Facts, t *schema.Table)
		fix, not             string
	}{
		{"a parent", "MODIFY id BIGINT NOT NULL", "", parent, "Change both tables in one step: midstream plan --together with this ALTER", natively},
		{"to itself", "MODIFY a BIGINT", "", self, "Give both columns the same type: midstream plan --together with this ALTER", natively},
		{"a parent, where no group is possible", "MODIFY id BIGINT NOT NULL", "", maria(parent), again, natively},
		{"to itself, where no group is possible", "MODIFY a BIGINT", "", maria(self), again, natively},
		{"another column", "MODIFY b VARCHAR(80)", "", maria(parent), natively, again},
		{"the same type", "MODIFY id INT NOT NULL COMMENT 'c'", "", maria(parent), natively, again},
		{"a group", "MODIFY id BIGINT NOT NULL", "ALTER TABLE shop.c MODIFY x BIGINT", maria(parent),
			"Drop the foreign keys between the tables, change the tables one after the other, without --together, and add", natively},
		{"a group of other columns", "ADD d INT", "ALTER TABLE shop.c ADD d INT", maria(parent), "Change the tables one after the other", "Drop the foreign key"},
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
				options.Together = []Partner{{Alter: statement, Table: orders([]string{"id int", "x int"}, "PRIMARY: id")}}
			}
			_, err := Make(facts, table, alter(t, c.clauses), options)
			var refused *Refused
			if !errors.As(err, &refused) {
				t.Fatalf("not refused: %v", err)
			}
			var fixes []string
			for _, r := range refused.Blocking {
				fixes = append(fixes, r.Fix)
			}
			if all := strings.Join(fixes, "\n"); !strings.Contains(all, c.fix) || strings.Contains(all, c.not) {
				t.Errorf("advice:\n%s\nwant %q, and not %q", all, c.fix, c.not)
			}
		})
	}
}
