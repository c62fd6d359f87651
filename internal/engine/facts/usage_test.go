package facts_test

import (
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/facts"
)

// TestUsage: the facts have the indexes that no statement has used, and the rows that were inserted, on each server that counts.
func TestUsage(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do(
			"CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b INT, KEY a (a), KEY b (b))",
			"INSERT INTO t (a, b) VALUES (1, 1), (2, 2), (3, 3)",
		)
		f, err := facts.Gather(t.Context(), s.DB, s.name("t"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(s.release, "mariadb") && !f.PerformanceSchema {
			if f.Usage != nil {
				t.Errorf("without performance_schema: %+v", f.Usage)
			}
			return
		}
		if f.Usage == nil || f.Usage.Inserts != 3 || f.Usage.Counting < 0 || f.Usage.Uptime < f.Usage.Counting || !slices.Equal(f.Usage.Unused, []string{"PRIMARY", "a", "b"}) {
			t.Fatalf("%+v", f.Usage)
		}
		s.do("SELECT a FROM t FORCE INDEX (a) WHERE a = 2", "UPDATE t SET a = 5 WHERE id = 1")
		f, err = facts.Gather(t.Context(), s.DB, s.name("t"))
		if err != nil || !slices.Equal(f.Usage.Unused, []string{"b"}) || f.Usage.All < 5 {
			t.Errorf("%+v, %v", f.Usage, err)
		}
	})
}
