package schema_test

import (
	"errors"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

// TestMissingTablesAreExplained: a database that does not exist is named, and so is a table that may have been meant.
func TestMissingTablesAreExplained(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do("CREATE TABLE DB.orders (id INT PRIMARY KEY)")
		for name, want := range map[schema.Name]string{
			{Schema: s.database, Table: "order"}:        "no such table, or no privilege on it; did you mean " + s.database + ".orders?",
			{Schema: s.database, Table: "customers"}:    "no such table, or no privilege on it",
			{Schema: s.database + "x", Table: "orders"}: "did you mean " + s.database + "?",
			{Schema: "no such", Table: "orders"}:        "no such database, or no privilege on it",
		} {
			_, err := schema.Load(t.Context(), s.DB, name)
			got := schema.Missing(t.Context(), s.DB, name, err)
			if !errors.Is(got, schema.ErrNotFound) || !strings.HasSuffix(got.Error(), want) {
				t.Errorf("%s: %v", name, got)
			}
		}
	})
}
