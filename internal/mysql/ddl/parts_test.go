package ddl_test

import (
	"strings"
	"testing"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
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

// TestL6_InvisibleColumnsAreRead: the parser reads the type of a column that stays invisible, and no name that looks like the word.
func TestL6_InvisibleColumnsAreRead(t *testing.T) {
	for clauses, want := range map[string]string{
		"MODIFY a BIGINT NOT NULL DEFAULT '7' INVISIBLE COMMENT 'INVISIBLE'":              "a bigint",
		"CHANGE COLUMN a b BIGINT UNSIGNED /*!50000 INVISIBLE */ FIRST, ADD d INT":        "b bigint, d int",
		"MODIFY COLUMN invisible INT VISIBLE AFTER visible, MODIFY b INT AFTER invisible": "invisible int, b int",
		"CHANGE visible `invisible` INT INVISIBLE":                                        "invisible int",
		"MODIFY a INT CHECK (invisible > 0)":                                              "a int",
	} {
		a, err := ddl.ParseClauses(schema.Name{Schema: "s", Table: "t"}, clauses)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range a.Defined {
			got = append(got, c.Name+" "+c.DataType)
		}
		if !a.Parsed || strings.Join(got, ", ") != want || a.Clauses != clauses {
			t.Errorf("%s: %s (%s)", clauses, strings.Join(got, ", "), a.Unparsed)
		}
	}
}
