package migration_test

import "testing"

var valueCases = []typeCase{
	{
		name: "signed and unsigned, wider and narrower",
		columns: "id INT PRIMARY KEY, a TINYINT, b TINYINT UNSIGNED, c SMALLINT, d SMALLINT UNSIGNED, e MEDIUMINT UNSIGNED, f INT UNSIGNED, " +
			"g BIGINT, h BIGINT UNSIGNED, i INT, j BIGINT UNSIGNED",
		rows: []string{
			"1, 127, 127, 32767, 65535, 16777215, 4294967295, 9223372036854775807, 9223372036854775807, -2147483648, 18446744073709551615",
			"2, 0, 0, 0, 0, 0, 0, 0, 0, 127, 0", "3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
		},
		alter: "MODIFY a TINYINT UNSIGNED, MODIFY b TINYINT, MODIFY c INT UNSIGNED, MODIFY d MEDIUMINT, MODIFY e INT, MODIFY f BIGINT, " +
			"MODIFY g BIGINT UNSIGNED, MODIFY h BIGINT, MODIFY i BIGINT, MODIFY j DECIMAL(20,0)",
	},
	{
		name: "numbers with a point",
		columns: "id INT PRIMARY KEY, a FLOAT, b DOUBLE, c DECIMAL(65,30), d DECIMAL(65,30), e FLOAT, f VARCHAR(40), g BIT(8), h DECIMAL(10,4), " +
			"i DOUBLE, j BIGINT",
		rows: []string{
			"1, 0.1, 0.1, -12345678901234567890123456789012345.123456789012345678901234567890, 0.000000000000000000000000000001, 3.40282e38, '1e2', 65, 0.0005, -0.0, 9007199254740993",
			"2, -0.0, 1e10, 0, -1, -1.1754944e-38, '-0.5', 255, -99999.9999, 5e-324, -9223372036854775808",
			"3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
			"4, 123456.789, -1e-10, 1, 1, 16777217, '007', 0, 1, 1.7976931348623157e308, 1",
		},
		alter: "MODIFY a DECIMAL(20,6), MODIFY b DECIMAL(40,20), MODIFY c VARCHAR(80), MODIFY d DOUBLE, MODIFY e DOUBLE, MODIFY f DECIMAL(10,2), " +
			"MODIFY g INT, MODIFY h DECIMAL(10,2), MODIFY j DOUBLE",
	},
	{
		name:    "documents",
		columns: "id INT PRIMARY KEY, a JSON, b JSON, c LONGTEXT, d INT, e JSON",
		rows: []string{
			`1, '[1.0, 1, 1e0, 1.10]', '{"k": [null, {"k": null}]}', '{"b": 1, "a": 1.0, "a": 2}', 7, CAST(CAST('2020-01-01 10:11:12.000013' AS DATETIME(6)) AS JSON)`,
			`2, '18446744073709551615', '-9223372036854775808', '"é😀"', -7, CAST(CAST(1.50 AS DECIMAL(10,2)) AS JSON)`,
			`3, JSON_ARRAY(_binary X'FF00', _latin1 X'E9'), CAST(CAST('25:00:00.5' AS TIME(1)) AS JSON), 'null', 0, CAST(CAST('-25:00:00.5' AS TIME(1)) AS JSON)`,
			`4, CONCAT('["', REPEAT('x', 70000), '"]'), '[]', '{}', NULL, JSON_OBJECT('', '', 'é', REPEAT('ß', 300))`,
			`5, NULL, 'null', NULL, NULL, NULL`,
		},
		alter: "MODIFY b LONGTEXT, MODIFY c JSON, ADD COLUMN z JSON",
	},
	{
		name:    "numbers made documents",
		columns: "id INT PRIMARY KEY, a INT, b DECIMAL(10,2), c DOUBLE, d FLOAT, e YEAR, f ENUM('x','7'), g BIGINT UNSIGNED, h VARCHAR(20), i DOUBLE(12,2)",
		rows: []string{
			"1, 7, 1.50, 0.1, 0.1, 2000, '7', 18446744073709551615, '[1.0]', 1.5",
			"2, -7, -0.05, 1e100, 1.1754944e-38, 1999, '7', 0, '\"x\"', -1",
			"3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
		},
		alter: "MODIFY a JSON, MODIFY b JSON, MODIFY c JSON, MODIFY d JSON, MODIFY e JSON, MODIFY f JSON, MODIFY g JSON, MODIFY h JSON, MODIFY i JSON",
	},
	{
		name:    "geometries",
		columns: "id INT PRIMARY KEY, a POINT NOT NULL SRID 4326, b GEOMETRY, c POINT NOT NULL, d GEOMETRY, SPATIAL INDEX (a)",
		rows: []string{
			"1, ST_GeomFromText('POINT(1 2)', 4326), ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))'), ST_GeomFromText('POINT(1 2)'), NULL",
			"2, ST_GeomFromText('POINT(-90 180)', 4326), NULL, ST_GeomFromText('POINT(1e300 -0)'), ST_GeomFromText('MULTIPOINT(1 1,2 2)', 4326)",
		},
		alter: "MODIFY c GEOMETRY NOT NULL, ADD SPATIAL INDEX (c), MODIFY d LONGBLOB, ADD COLUMN z INT",
	},
	{
		name: "generated columns, all ways",
		columns: "id INT PRIMARY KEY, a INT, b INT AS (a + 1) VIRTUAL, c INT AS (a + 2) STORED, d INT AS (a + 3) STORED, e INT AS (a + 4) VIRTUAL, " +
			"f INT, g INT AS (a + 5) STORED, h JSON, i INT AS (h->'$.n') STORED, UNIQUE KEY g (g), KEY e (e)",
		rows: []string{
			`1, 5, DEFAULT, DEFAULT, DEFAULT, DEFAULT, 9, DEFAULT, '{"n": 1}', DEFAULT`,
			`2, NULL, DEFAULT, DEFAULT, DEFAULT, DEFAULT, NULL, DEFAULT, '{}', DEFAULT`,
		},
		alter: "DROP COLUMN b, MODIFY c INT, CHANGE d dd INT AS (a + 3) STORED, CHANGE e ee INT AS (a * 4), MODIFY a BIGINT, ADD UNIQUE KEY i (i), ADD COLUMN z INT AS (f + 1)",
	},
	{
		name:    "generated key",
		columns: "a INT, id INT AS (a * 10) STORED NOT NULL, v INT, PRIMARY KEY (id)",
		rows:    []string{"1, DEFAULT, 5", "-3, DEFAULT, 6", "7, DEFAULT, NULL"},
		alter:   "ADD COLUMN z INT, MODIFY v BIGINT",
	},
	{
		name:    "functional unique key, and an invisible key",
		only:    "9.7",
		columns: "my_row_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE PRIMARY KEY, a INT, b INT, c VARCHAR(10), UNIQUE KEY ab (a, (b + 1)), UNIQUE KEY c ((LOWER(c)))",
		rows:    []string{"1, 1, 'A'", "1, 2, 'B'", "NULL, 2, NULL", "2, NULL, NULL"},
		alter:   "ADD COLUMN z INT, ADD UNIQUE KEY ((a + b))",
	},
	{
		name: "generated invisible primary key goes", only: "9.7",
		columns: "my_row_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE PRIMARY KEY, a INT NOT NULL, b INT, UNIQUE KEY a (a)",
		rows:    []string{"1, 1", "3, 2", "2, NULL"},
		alter:   "DROP COLUMN my_row_id, ADD PRIMARY KEY (a)",
	},
	{
		name:    "letter case, order, words in comments",
		columns: "id INT PRIMARY KEY, Aa INT, b VARCHAR(10) COMMENT 'DROP COLUMN id, RENAME TO x', c INT, `select` INT, `a``b` INT",
		rows:    []string{"1, 2, 'x', 4, 5, 6", "2, NULL, '', NULL, NULL, NULL"},
		alter: "MODIFY aA BIGINT AFTER C, CHANGE B b VARCHAR(12) COMMENT 'ADD COLUMN b INT, RENAME COLUMN c TO d' FIRST, CHANGE `SELECT` `from` INT, " +
			"CHANGE `a``b` `a.b` INT /* , DROP COLUMN c */",
	},
	{
		name:    "columns renamed by RENAME COLUMN", // in a ring
		columns: "id INT PRIMARY KEY, a INT, b INT, c INT",
		rows:    []string{"1, 2, 3, 4", "2, NULL, 5, 6"},
		alter:   "RENAME COLUMN a TO b, RENAME COLUMN b TO c, RENAME COLUMN c TO a",
	},
}

// TestValues: numbers, documents, geometries and what the server computes.
func TestValues(t *testing.T) {
	sideBySide(t)
	sameAsNative(t, valueCases)
}
