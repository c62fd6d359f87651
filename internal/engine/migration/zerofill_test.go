package migration_test

import (
	"testing"

	"midstream/internal/lab/mysqltest"
)

// TestL11_ZeroFilledNumbersBecomeText: a number that the server shows with leading zeros becomes
// the text that the server's own ALTER makes of it, in a key too.
func TestL11_ZeroFilledNumbersBecomeText(t *testing.T) {
	mysqltest.Seldom(t)
	sameAsNative(t, []typeCase{
		{
			name:    "zero-filled numbers written as text",
			columns: "id INT PRIMARY KEY, a INT(6) UNSIGNED ZEROFILL, b DECIMAL(8,2) ZEROFILL, c FLOAT(7,2) ZEROFILL, d DOUBLE ZEROFILL, e SMALLINT(4) ZEROFILL, f BIGINT ZEROFILL, g FLOAT ZEROFILL",
			rows: []string{
				"1, 42, 1.5, 2.5, 0.1, 7, 18446744073709551615, 0.1",
				"2, 4294967295, 999999.99, 0, 1e100, 0, 0, 1e10", "3, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
			},
			alter: "MODIFY a CHAR(30), MODIFY b VARCHAR(20), MODIFY c TEXT, MODIFY d VARBINARY(400), MODIFY e BLOB, MODIFY f VARCHAR(40) CHARACTER SET utf16, MODIFY g VARCHAR(40)",
		},
		{
			name:    "zero-filled key written as text",
			columns: "id INT(6) UNSIGNED ZEROFILL PRIMARY KEY, a INT",
			rows:    []string{"0, 1", "42, 2", "4294967295, 3", "7, 4"},
			alter:   "MODIFY id VARCHAR(20)",
		},
	})
}
