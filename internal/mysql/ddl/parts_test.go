package ddl_test

import (
	"strings"
	"testing"

	"midstream/internal/mysql/ddl"
)

// TestParts splits clauses at the commas between them, and at no others.
func TestParts(t *testing.T) {
	for clauses, want := range map[string]string{
		"ADD COLUMN a INT":                                       "ADD COLUMN a INT",
		"ADD COLUMN a INT, ADD INDEX (a, b)":                     "ADD COLUMN a INT|ADD INDEX (a, b)",
		"ADD COLUMN a ENUM('x,y', '),'), COMMENT = 'a, b'":       "ADD COLUMN a ENUM('x,y', '),')|COMMENT = 'a, b'",
		"ADD COLUMN (a INT, b INT), DROP COLUMN c":               "ADD COLUMN (a INT, b INT)|DROP COLUMN c",
		"ADD COLUMN a INT /* one, two */, DROP COLUMN `b,c`":     "ADD COLUMN a INT|DROP COLUMN `b,c`",
		"ADD COLUMN a DECIMAL(10,2) DEFAULT (ROUND(1,2)), FORCE": "ADD COLUMN a DECIMAL(10,2) DEFAULT (ROUND(1,2))|FORCE",
		"ORDER BY a, b":                                         "",
		"ADD COLUMN a INT, ALGORITHM=INPLACE":                   "",
		"ADD COLUMN a INT, RENAME TO u":                         "",
		"DROP PARTITION p0, p1":                                 "",
		"PARTITION BY HASH (a) PARTITIONS 4":                    "",
		"ADD COLUMN a INT, NONSENSE HERE":                       "",
		"ADD COLUMN a INT /*!80013 INVISIBLE */, ADD INDEX (b)": "",
	} {
		alter, err := ddl.Parse("ALTER TABLE t " + clauses)
		if err != nil {
			t.Fatalf("%s: %v", clauses, err)
		}
		var got []string
		for _, part := range alter.Parts() {
			got = append(got, part.Clauses)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, want %q", clauses, got, want)
		}
	}
}
