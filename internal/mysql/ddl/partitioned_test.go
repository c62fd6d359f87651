package ddl

import "testing"

// TestL11_PartitionsByKeyMakeNoKey: PARTITION BY KEY after a column's definition is no part of that
// definition.
func TestL11_PartitionsByKeyMakeNoKey(t *testing.T) {
	for _, c := range []struct {
		clauses string
		primary bool
		keys    int
	}{
		{"ADD COLUMN c SMALLINT NOT NULL PARTITION BY KEY (a) PARTITIONS 2", false, 0},
		{"ENGINE = InnoDB, ADD c INT AS (LENGTH(b)) VIRTUAL PARTITION BY LINEAR KEY ALGORITHM = 2 (a)", false, 0},
		{"MODIFY c INT UNIQUE PARTITION BY KEY (a)", false, 1},
		{"CHANGE c d INT REMOVE PARTITIONING", false, 0},
		{"ADD COLUMN (c INT KEY) PARTITION BY KEY (c)", true, 1},
		{"ADD c INT KEY PARTITION BY KEY (c)", true, 1},
	} {
		a, err := Parse("ALTER TABLE t " + c.clauses)
		if err != nil {
			t.Fatal(err)
		}
		if a.AddsPrimaryKey != c.primary || len(a.Keys) != c.keys {
			t.Errorf("%s: adds a primary key: %v, keys %v", c.clauses, a.AddsPrimaryKey, a.Keys)
		}
	}
}
