package migration_test

import "testing"

var keyCases = []typeCase{
	{
		name:    "latin1",
		columns: "id VARCHAR(10) CHARACTER SET latin1 PRIMARY KEY, a INT",
		rows:    []string{"'é', 1", "'ü', 2", "'ß', 3", "'z', 4", "'A', 5", "'Ö', 6", "'€', 7", "'', 8", "X'81', 9"},
		alter:   "ADD COLUMN z INT",
	},
	{
		name:    "latin1 to utf8mb4",
		columns: "id VARCHAR(10) CHARACTER SET latin1 COLLATE latin1_bin, n INT, a INT, PRIMARY KEY (id, n)",
		rows:    []string{"'é', 1, 1", "'ü', 1, 2", "'é', 2, 3", "'ß', 1, 4", "'€', 1, 5", "'e', 1, 6"},
		alter:   "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
	},
	{
		name:    "gbk and sjis",
		columns: "a VARCHAR(10) CHARACTER SET gbk, b CHAR(5) CHARACTER SET sjis, v INT, PRIMARY KEY (a, b)",
		rows:    []string{"'中', 'テ', 1", "'文', 'テ', 2", "'中', 'ソ', 3", "'\\\\', '\\'', 4", "'', '', 5"},
		alter:   "ADD COLUMN z INT",
	},
	{
		name:    "letter case, two columns",
		columns: "k VARCHAR(5) COLLATE utf8mb4_general_ci, n INT, a INT, PRIMARY KEY (k, n)",
		rows:    []string{"'a', 5, 1", "'A', 10, 2", "'B', 1, 3", "'b', 2, 4", "'á', 7, 5", "'A ', 12, 6", "'ab', 1, 7", "'a', 1, 8"},
		alter:   "ADD COLUMN z INT",
	},
	{
		name:    "values that differ by letter case and blanks only",
		columns: "k VARCHAR(5) COLLATE utf8mb4_bin, m VARCHAR(5) COLLATE utf8mb4_0900_ai_ci, a INT, PRIMARY KEY (k, m)",
		rows:    []string{"'a', 'x', 1", "'A', 'x', 2", "'á', 'x', 3", "'a', 'x ', 4", "'a', '', 5", "'', ' ', 6"},
		alter:   "ADD COLUMN z INT",
	},
	{
		name:    "bits",
		columns: "b BIT(1), c BIT(64), d BIT(10), a INT, PRIMARY KEY (b, c, d)",
		rows:    []string{"0, 0, 0, 1", "1, 18446744073709551615, 1023, 2", "1, 9223372036854775808, 512, 3", "0, 1, 256, 4", "1, 0, 1, 5"},
		alter:   "ADD COLUMN z INT",
	},
	{
		name:    "bytes with zeros at the end",
		columns: "id BINARY(4), u BINARY(3), w VARBINARY(5), a INT, PRIMARY KEY (id, w), UNIQUE KEY u (u)",
		rows: []string{
			"X'01000000', X'010000', X'00', 1", "X'00000001', X'000001', X'0000', 2", "X'00', X'00', X'', 3",
			"X'FF00FF00', X'FF00', X'FF', 4", "X'20', X'20', X'20', 5",
		},
		alter: "ADD COLUMN z INT",
	},
	{
		name:    "bytes to bytes of another length",
		columns: "id BINARY(4) PRIMARY KEY, a INT",
		rows:    []string{"X'01000000', 1", "X'00000001', 2", "X'00', 3", "X'FF00FF00', 4"},
		alter:   "MODIFY id VARBINARY(8)",
	},
	{
		name:    "a UUID as bytes",
		columns: "id BINARY(16) PRIMARY KEY, a INT",
		rows: []string{
			"UNHEX(REPLACE('00000000-0000-0000-0000-000000000000', '-', '')), 1",
			"X'0cc175b9c0f1b6a831c399e269772661', 2", "X'92eb5ffee6ae2fec3ad71c777531578f', 3",
			"UNHEX(REPEAT('F', 32)), 4",
		},
		alter: "ADD COLUMN z INT, MODIFY a BIGINT",
	},
	{
		name:    "decimals and times",
		columns: "a DECIMAL(32,0), b DATETIME(6), c DECIMAL(10,5), v INT, PRIMARY KEY (a, b, c)",
		rows: []string{
			"-99999999999999999999999999999999, '0000-00-00', -0.00001, 1",
			"99999999999999999999999999999999, '9999-12-31 23:59:59.999999', 99999.99999, 2",
			"0, '2020-01-01 00:00:00.000001', 0, 3", "-1, '2020-01-01 00:00:00.000001', -1, 4",
			"0, '2020-01-01', 0.1, 5",
		},
		alter: "ADD COLUMN z INT",
	},
	{
		name:    "floating point",
		columns: "a FLOAT, b DOUBLE, v INT, PRIMARY KEY (a, b)",
		rows:    []string{"0.1, 0.1, 1", "-3.40282e38, 1e300, 2", "0, -0.0, 3", "1.1754944e-38, 5e-324, 4", "16777217, -1e-10, 5"},
		alter:   "ADD COLUMN z INT",
	},
	{
		name:    "members, years and times of day",
		columns: "a ENUM('z','a','it''s'), b SET('q','p'), c YEAR, d DATE, e TIME(3), v INT, PRIMARY KEY (a, b, c, d, e)",
		rows: []string{
			"'z', 'q', 0, '0000-00-00', '-838:59:59', 1", "'a', 'q,p', 2155, '9999-12-31', '838:59:59', 2",
			"'it''s', '', 1901, '2020-00-10', '00:00:00.007', 3", "'z', 'p', 1970, '1970-01-01', '-00:00:00.001', 4",
			"'nosuch', '', 2000, '2020-02-29', '0:0:0', 5",
		},
		alter: "ADD COLUMN z INT",
	},
	{
		name:    "unsigned above 2^63, zero and less",
		columns: "a BIGINT UNSIGNED, b BIGINT, v INT, PRIMARY KEY (a DESC, b)",
		rows: []string{
			"18446744073709551615, -9223372036854775808, 1", "9223372036854775808, 0, 2", "0, -1, 3",
			"0, 9223372036854775807, 4", "9223372036854775807, 1, 5",
		},
		alter: "ADD COLUMN z INT",
	},
	{
		name:    "auto increment at zero and below",
		columns: "id INT AUTO_INCREMENT PRIMARY KEY, a INT",
		rows:    []string{"-5, 1", "0, 2", "2147483647, 3", "-2147483648, 4", "1, 5"},
		alter:   "ADD COLUMN z INT",
	},
	{
		name:    "unique key beside one with NULLs, of a name to quote",
		columns: "u INT, `x-y` INT NOT NULL, v INT, UNIQUE KEY u (u), UNIQUE KEY `a b``c` (`x-y`), UNIQUE KEY uv (u, v)",
		rows:    []string{"NULL, 1, 1", "NULL, 2, NULL", "3, 3, NULL", "4, 4, 4", "NULL, 5, 1"},
		alter:   "ADD COLUMN z INT",
	},
	{
		name:    "primary key made longer, another made shorter",
		columns: "id INT PRIMARY KEY, x VARCHAR(9) NOT NULL, y INT NOT NULL, UNIQUE KEY xy (x, y)",
		rows:    []string{"1, 'a', 1", "2, 'B', 1", "3, 'b', 2"},
		alter:   "DROP PRIMARY KEY, ADD PRIMARY KEY (id, x), DROP INDEX xy, ADD INDEX (x)",
	},
	{
		name:    "integer key made wider and unsigned",
		columns: "id INT UNSIGNED, m SMALLINT, v INT, PRIMARY KEY (id, m)",
		rows:    []string{"0, -5, 1", "4294967295, 32767, 2", "7, 0, 3", "7, -32768, 4"},
		alter:   "MODIFY id BIGINT, MODIFY m INT",
	},
	{
		name:    "numbers become floating",
		columns: "id BIGINT, n INT UNSIGNED, v INT, PRIMARY KEY (id, n)",
		rows: []string{
			"-9007199254740992, 16777216, 1", "9007199254740992, 0, 2", "0, 1, 3", "0, 2, 4", "9007199254740991, 16777215, 5",
		},
		alter: "MODIFY id DOUBLE NOT NULL, MODIFY n FLOAT NOT NULL",
	},
	{
		name:    "texts and bytes become longer bytes",
		columns: "k VARCHAR(5) CHARACTER SET latin1 COLLATE latin1_bin, b BINARY(3), v INT, PRIMARY KEY (k, b)",
		rows:    []string{"'', X'00', 1", "'é', X'FF00FF', 2", "'abcde', X'20', 3", "'a ', '', 4", "'A', X'0000FF', 5"},
		alter:   "MODIFY k BINARY(7) NOT NULL, MODIFY b BINARY(9) NOT NULL",
	},
	{
		name:    "letters with several codes to utf8mb4",
		columns: "k VARCHAR(5) CHARACTER SET sjis COLLATE sjis_bin, v INT, PRIMARY KEY (k)",
		rows:    []string{"'テ', 1", "'ソ', 2", "'', 3", "'a', 4", "'テソ', 5"},
		alter:   "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
	},
	{
		name:    "moments",
		columns: "a TIMESTAMP(3) NOT NULL DEFAULT '2020-01-01 00:00:00', b TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00', v INT, PRIMARY KEY (a, b)",
		rows: []string{"'1970-01-01 00:00:01.000', '0000-00-00 00:00:00', 1", "'2038-01-19 03:14:07.999', '2020-10-25 00:30:00', 2",
			"'2020-10-25 00:30:00.001', '2020-10-25 01:30:00', 3", "'2020-10-25 01:30:00.001', '2020-10-25 01:30:00', 4"},
		alter: "ADD COLUMN z INT",
	},
}

// TestKeys: keys of every type and shape. The chunks have two rows, so that their values are bounds
// too.
func TestKeys(t *testing.T) {
	sideBySide(t)
	sameAsNative(t, keyCases)
}
