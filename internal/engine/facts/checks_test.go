package facts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// An ALTER that names CHECK constraints works on the shadow, where they have other names.
func TestClausesForNameTheCopysChecks(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		if s.release != "9.7" {
			t.Skip("parses checks and drops them, or keeps their names")
		}
		s.checked()
		for _, clauses := range []string{
			"DROP CHECK `z ``z`, DROP CONSTRAINT t_chk_2, ALTER CHECK aa ENFORCED",
			"DROP CHECK c09, DROP CHECK /* x */ C11, ADD CONSTRAINT c09 CHECK (id > 7), ADD CONSTRAINT fresh CHECK (id > 8)",
			"DROP CONSTRAINT u, ADD COLUMN d INT CONSTRAINT dd CHECK (d > 9), DROP CHECK aa",
		} {
			s.do("CREATE TABLE t_shadow LIKE t")
			alter, err := ddl.Parse("ALTER TABLE t " + clauses)
			if err != nil {
				t.Fatal(err)
			}
			p := plan.Plan{Source: s.load("t"), Alter: alter}
			s.do("ALTER TABLE t_shadow " + p.ClausesFor(s.load("t_shadow")))
			shadow := checksOf(s.load("t_shadow"))
			s.do("DROP TABLE t_shadow", "ALTER TABLE t "+clauses)
			if native := checksOf(s.load("t")); shadow != native {
				t.Errorf("%s:\n%s\nnatively\n%s", clauses, shadow, native)
			}
			s.do("DROP TABLE t")
			s.checked()
		}
	})
}

// TestL11_ACheckThatIsAddedAgainKeepsItsName: an ALTER drops a CHECK and adds another one of its name.
func TestL11_ACheckThatIsAddedAgainKeepsItsName(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		if s.release != "9.7" {
			t.Skip("parses checks and drops them, or keeps their names")
		}
		s.do("CREATE TABLE t (id INT PRIMARY KEY, CHECK (id < 5), CHECK (id < 7))", "CREATE TABLE t_shadow LIKE t")
		alter, err := ddl.Parse("ALTER TABLE t DROP CHECK t_chk_1, ADD CONSTRAINT t_chk_1 CHECK (id < 6)")
		if err != nil {
			t.Fatal(err)
		}
		p := plan.Plan{Source: s.load("t"), Alter: alter}
		s.do("ALTER TABLE t_shadow "+p.ClausesFor(s.load("t_shadow")), "DROP TABLE t", "RENAME TABLE t_shadow TO t")
		if checks := s.load("t").Checks; len(checks) != 2 || checks[0].Name != "t_chk_1" || checks[1].Name != "t_chk_2" {
			t.Errorf("the checks are %v", checks)
		}
	})
}

// checked makes table t with many checks.
func (s *server) checked() {
	s.t.Helper()
	s.do("CREATE TABLE t (id INT PRIMARY KEY, a INT CHECK (a > 0), b INT CONSTRAINT `z ``z` CHECK (b > 1), " +
		"c INT CONSTRAINT aa CHECK (c > 2) NOT ENFORCED, CHECK (a < b), CONSTRAINT u UNIQUE (c))")
	for i := range 12 { // more than nine
		s.do(fmt.Sprintf("ALTER TABLE t ADD CONSTRAINT c%02d CHECK (id <> %d)", i, i+100))
	}
}

// checksOf lists what the checks check, in order.
func checksOf(t *schema.Table) string {
	var all []string
	for _, c := range t.Checks {
		all = append(all, fmt.Sprintf("%s %v", c.Clause, c.Enforced))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
