package desired_test

import (
	"strings"
	"testing"

	"midstream/internal/engine/desired"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// TestDefinitionsThatMeanTheSame: one CREATE TABLE has the same lines on MySQL and on MariaDB, so a fleet with both has no drift by it.
func TestDefinitionsThatMeanTheSame(t *testing.T) {
	bodies := []string{
		"id INT PRIMARY KEY, j JSON",
		"id INT PRIMARY KEY, j JSON NOT NULL",
		"id INT PRIMARY KEY, b BIT(3) NOT NULL DEFAULT b'101', t TINYINT DEFAULT -1, f FLOAT DEFAULT 1.5, x DOUBLE(10,2) NOT NULL DEFAULT 0",
		"id INT PRIMARY KEY, u CHAR(36) DEFAULT (UUID())",
		"id INT PRIMARY KEY, n INT DEFAULT (1 + 2), m VARCHAR(40) DEFAULT (CONCAT('a', 'b'))",
		"id INT PRIMARY KEY, d DATE DEFAULT (CURRENT_DATE)",
		"id INT PRIMARY KEY, at DATETIME(3) NOT NULL DEFAULT NOW(3) ON UPDATE NOW(3), until TIMESTAMP NULL",
		"id INT PRIMARY KEY, n INT, CHECK (n > 0)",
		"id INT PRIMARY KEY, n INT CHECK (n > 0)",
		"id INT PRIMARY KEY, n INT, CONSTRAINT positive CHECK (n > 0 AND n < 10)",
		"id INT PRIMARY KEY, n INT, m INT, CONSTRAINT either CHECK (n IS NOT NULL OR m IN (1, 2, 3))",
		"id INT PRIMARY KEY, s VARCHAR(9), CONSTRAINT named CHECK (s LIKE 'a%' OR s = 'b')",
		"id INT PRIMARY KEY, s VARCHAR(20), CONSTRAINT cut CHECK (CHAR_LENGTH(s) BETWEEN 1 AND 20)",
		"id INT PRIMARY KEY, n INT, g INT AS (n * 2) STORED, h INT AS (n + id)",
		"id INT PRIMARY KEY, a VARCHAR(9), b VARCHAR(9), g VARCHAR(20) AS (CONCAT(a, ' ', b)) VIRTUAL, l VARCHAR(9) AS (LOWER(a)) STORED",
		"id INT PRIMARY KEY, n INT, g INT AS (IF(n > 3, 1, NULL)), h INT AS (COALESCE(n, 0)), i INT AS (CASE WHEN n = 1 THEN 2 ELSE 3 END)",
		"id INT PRIMARY KEY, n INT, KEY down (n DESC)",
		"id INT PRIMARY KEY, body TEXT, FULLTEXT KEY words (body)",
		"id INT PRIMARY KEY, p POINT NOT NULL, SPATIAL KEY place (p)",
		"id INT PRIMARY KEY, n INT COMMENT 'it''s \"x\" \\\\', KEY (n) COMMENT 'k'",
		"id INT PRIMARY KEY, up INT, CONSTRAINT f FOREIGN KEY (up) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE RESTRICT",
		"id INT PRIMARY KEY, up INT, CONSTRAINT f FOREIGN KEY (up) REFERENCES parent (id)",
		"id INT PRIMARY KEY, up INT, CONSTRAINT f FOREIGN KEY (up) REFERENCES parent (id) ON DELETE NO ACTION",
		"id INT, n INT, PRIMARY KEY (id, n)) ENGINE=InnoDB PARTITION BY RANGE (n) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE",
		"id INT PRIMARY KEY) ENGINE=InnoDB PARTITION BY HASH (id) PARTITIONS 4 -- ",
		"id INT, d DATE, PRIMARY KEY (id, d)) ENGINE=InnoDB PARTITION BY RANGE (TO_DAYS(d)) (PARTITION p0 VALUES LESS THAN (738000) COMMENT = 'old', PARTITION p1 VALUES LESS THAN MAXVALUE",
		"id INT, d DATE, PRIMARY KEY (id, d)) ENGINE=InnoDB PARTITION BY RANGE COLUMNS (d) (PARTITION p0 VALUES LESS THAN ('2024-01-01'), PARTITION p1 VALUES LESS THAN (MAXVALUE)",
		"id INT, n INT, PRIMARY KEY (id, n)) ENGINE=InnoDB PARTITION BY LIST (n) (PARTITION p0 VALUES IN (1, 2), PARTITION p1 VALUES IN (NULL, 3)",
		"id INT PRIMARY KEY) ENGINE=InnoDB PARTITION BY KEY (id) PARTITIONS 2 -- ",
		"id INT PRIMARY KEY, s VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, c CHAR(3) CHARACTER SET ascii, b BINARY(16), l LONGBLOB",
		"id INT PRIMARY KEY, s SET('a', 'b') NOT NULL DEFAULT 'a,b', e ENUM('x', 'y')",
		"id INT PRIMARY KEY, n INT, m INT, CHECK ((n + m) * 2 > 3 - (n - 1) AND (NOT n = 1 OR m <> 2))",
		"id INT PRIMARY KEY, n INT, m INT, CHECK (n % 3 = 1 XOR m DIV 2 NOT BETWEEN -1 AND 4 OR n NOT IN (1, 2) AND m IS NOT NULL)",
		"id INT PRIMARY KEY, n INT DEFAULT (ABS(-2) * (3 + 4)), s VARCHAR(40) DEFAULT (UPPER(SUBSTR('it''s', 1, 2))) COMMENT 'DEFAULT (1)'",
		"id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, t TIME(2), d DECIMAL(20, 5) UNSIGNED, r REAL, n NUMERIC(5)",
		"id INT PRIMARY KEY, a INT) ROW_FORMAT=DYNAMIC STATS_PERSISTENT=1 -- ",
	}
	for _, body := range bodies {
		lines := map[string][]string{}
		for _, version := range []string{"9.7", "mariadb-10.11", "mariadb-11.8"} {
			db, name := mysqltest.Database(t, mysqltest.Server(t, version))
			mysqltest.Exec(t, db, "CREATE TABLE parent (id INT PRIMARY KEY) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
				"ALTER DATABASE "+name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
			if _, err := db.Exec("CREATE TABLE t (" + strings.TrimSuffix(body+")", " -- )")); err != nil {
				t.Logf("%s: %s: %v", version, body, err)
				continue
			}
			table, err := schema.Load(t.Context(), db, schema.Name{Schema: name, Table: "t"})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(desired.Lines(table), "\n")
			got = strings.ReplaceAll(got, "`"+name+"`.", "")
			lines[got] = append(lines[got], version)
		}
		if len(lines) > 1 {
			text := ""
			for got, versions := range lines {
				text += strings.Join(versions, ", ") + ":\n" + got + "\n"
			}
			t.Errorf("%s\n%s", body, text)
		}
	}
}
