package desired_test

import (
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/desired"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// TestLinesDoNotDependOnTheServer: the same CREATE TABLE has the same lines on every server, and each difference that matters shows.
func TestLinesDoNotDependOnTheServer(t *testing.T) {
	const create = "CREATE TABLE t (id INT UNSIGNED NOT NULL AUTO_INCREMENT, flag TINYINT(1) NOT NULL DEFAULT 0, n BIGINT DEFAULT 7, z INT(5) ZEROFILL," +
		" d DECIMAL(9,2) NOT NULL DEFAULT 1.5, y YEAR, name VARCHAR(40) CHARACTER SET latin1, body TEXT, e ENUM('a', 'b (1)') DEFAULT 'a' COMMENT 'int(11), NULL'," +
		" at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, at6 DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6), b VARBINARY(9)," +
		" g INT GENERATED ALWAYS AS (n + 1) VIRTUAL, PRIMARY KEY (id), UNIQUE KEY named (name(10), n) USING BTREE, KEY (n))" +
		" ENGINE=InnoDB DEFAULT CHARSET=utf8 COLLATE=utf8_general_ci COMMENT='it''s'"
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		db, name := mysqltest.Database(t, mysqltest.Server(t, version))
		lines := func() []string {
			table, err := schema.Load(t.Context(), db, schema.Name{Schema: name, Table: "t"})
			if err != nil {
				t.Fatal(err)
			}
			return desired.Lines(table)
		}
		mysqltest.Exec(t, db, create)
		got := lines()
		if text := strings.Join(got, "\n"); text != linesOfT {
			t.Errorf("%s:\n%s\nwant\n%s", version, text, linesOfT)
		}
		for _, alter := range []string{"MODIFY n BIGINT DEFAULT 8", "MODIFY n BIGINT NOT NULL", "ALTER flag SET DEFAULT 1", "DROP KEY n", "MODIFY name VARCHAR(40)",
			"COMMENT 'x'", "MODIFY body TEXT AFTER id", "ROW_FORMAT=COMPACT", "MODIFY at6 DATETIME(5) DEFAULT CURRENT_TIMESTAMP(5)"} {
			mysqltest.Exec(t, db, "ALTER TABLE t "+alter)
			if next := lines(); slices.Equal(next, got) {
				t.Errorf("%s: %s shows no difference", version, alter)
			} else {
				got = next
			}
		}
		mysqltest.Exec(t, db, "DROP TABLE t")
	}
}

// linesOfT are those of the table in that test.
const linesOfT = "`id` int unsigned NOT NULL AUTO_INCREMENT\n`flag` tinyint(1) NOT NULL DEFAULT 0\n`n` bigint DEFAULT 7\n`z` int(5) unsigned zerofill\n" +
	"`d` decimal(9,2) NOT NULL DEFAULT 1.50\n`y` year\n`name` varchar(40) COLLATE latin1_swedish_ci\n`body` text COLLATE utf8mb3_general_ci\n" +
	"`e` enum('a','b (1)') DEFAULT 'a' COMMENT 'int(11), NULL' COLLATE utf8mb3_general_ci\n" +
	"`at` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP\n`at6` datetime(6) DEFAULT CURRENT_TIMESTAMP(6)\n`b` varbinary(9)\n" +
	"`g` int GENERATED ALWAYS AS (`n` + 1) VIRTUAL\nKEY `n` (`n`)\nPRIMARY KEY (`id`)\nUNIQUE KEY `named` (`name`(10),`n`)\n" +
	"COLLATE=utf8mb3_general_ci\nCOMMENT='it''s'\nENGINE=InnoDB"
