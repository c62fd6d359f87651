package migration_test

import (
	"cmp"
	"strings"
	"testing"
)

// TestL6_NoRowLosesItsParentByAType: a change of both ends of a foreign key by which a row could lose its parent is refused, because the
// swap declares the foreign key without a look at the rows.
func TestL6_NoRowLosesItsParentByAType(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		for _, c := range []struct{ name, parent, child, parentTo, childTo, has, refers string }{
			{"case", "VARCHAR(9) COLLATE utf8mb4_general_ci", "", "VARCHAR(9) COLLATE utf8mb4_bin", "", "x", "X"},
			{"blanks", "VARCHAR(9) COLLATE utf8mb4_bin", "", "VARCHAR(9) COLLATE utf8mb4_0900_bin", "", "x", "x "},
			{"charset alone", "VARCHAR(9) CHARACTER SET latin1", "", "VARCHAR(9) CHARACTER SET utf8mb4", "", "x", "x "},
			{"binary", "VARCHAR(9)", "", "VARBINARY(36)", "", "x", "X"},
			{"CHAR at one end", "VARCHAR(9)", "", "VARCHAR(20)", "CHAR(9)", "x ", "x "},
			{"ZEROFILL at one end", "INT UNSIGNED ZEROFILL", "INT UNSIGNED", "VARCHAR(20)", "", "5", "5"},
			{"members", "ENUM('a','b')", "ENUM('x','y')", "ENUM('a','b','x','y')", "", "a", "x"},
			{"CONVERT", "VARCHAR(9) CHARACTER SET latin1", "", "", "", "x", "x "},
		} {
			child, childTo := cmp.Or(c.child, c.parent), cmp.Or(c.childTo, c.parentTo)
			b.exec("CREATE TABLE p (k "+c.parent+" NOT NULL PRIMARY KEY)", "CREATE TABLE c (id INT PRIMARY KEY, k "+child+", FOREIGN KEY (k) REFERENCES p (k))",
				"INSERT INTO p VALUES ('"+c.has+"')", "INSERT INTO c VALUES (1, '"+c.refers+"')")
			to := "ALTER TABLE S.p MODIFY k " + c.parentTo + " NOT NULL; ALTER TABLE S.c MODIFY k " + childTo
			if c.parentTo == "" {
				to = "ALTER TABLE S.p CONVERT TO CHARACTER SET utf8mb4; ALTER TABLE S.c CONVERT TO CHARACTER SET utf8mb4"
			}
			code, last := b.process("", nil, "run", "--together", strings.ReplaceAll(to, "S.", b.schema+".")).wait()
			if code != 11 {
				b.Errorf("%s: exit code %d: %s", c.name, code, last)
			}
			b.exec("DROP TABLE IF EXISTS c, c_old, p, p_old")
		}
	})
}
