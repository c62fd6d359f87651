package facts_test

import (
	"fmt"
	"strings"
	"testing"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// The server accepts the artefacts' names and renames the tables, whatever the table's name is.
// CHECK constraints are the hardest part: the server makes their names from the table's name.
func TestNamesAreAccepted(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		for _, name := range []string{"orders", "a`b", "with space", "a.b", strings.Repeat("a", 50), strings.Repeat("b", 57),
			strings.Repeat("n", 64), strings.Repeat("é", 64), strings.Repeat("語", 49), "語" + strings.Repeat("x", 60), strings.Repeat("~", 49), strings.Repeat("$", 40)} {
			check := ", CHECK (id > 0)"
			if len([]rune(name)) > 57 {
				check = "" // such a table has no checks
			}
			source := s.name(name)
			names := plan.NamesOf(source)
			s.do(fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY%s)", source.Quoted(), check),
				fmt.Sprintf("CREATE TABLE %s LIKE %s", names.Shadow.Quoted(), source.Quoted()),
				fmt.Sprintf("CREATE TABLE %s LIKE %s", names.State.Quoted(), source.Quoted()),
				fmt.Sprintf("RENAME TABLE %s TO %s, %s TO %s", source.Quoted(), names.Old.Quoted(), names.Shadow.Quoted(), source.Quoted()))
			for _, n := range []schema.Name{source, names.Old, names.State} {
				if loaded := s.load(n.Table); loaded.Name != n {
					t.Errorf("%s is called %s", n, loaded.Name)
				}
			}
		}
	})
}
