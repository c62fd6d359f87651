package desired_test

import (
	"strings"
	"testing"

	"midstream/internal/lab/mysqltest"
)

const base = "id INT PRIMARY KEY, a INT, b VARCHAR(20)"

// diffs are pairs of definitions, and the clauses that lead from the first to the second.
var diffs = []struct {
	name     string
	from, to string
	says     map[string]string
	want     string
	since    string // "9.7": unknown to older servers
}{
	{name: "nothing", from: "(" + base + ")", to: "(id INTEGER NOT NULL, a INT NULL DEFAULT NULL, b VARCHAR(20), PRIMARY KEY (id))"},
	{
		name: "add",
		from: "(" + base + ")",
		to:   "(" + base + ", c INT NOT NULL DEFAULT 5 COMMENT 'it''s')",
		want: "ADD COLUMN `c` int NOT NULL DEFAULT '5' COMMENT 'it''s'",
	},
	{
		name: "add between",
		from: "(" + base + ")",
		to:   "(z INT, id INT PRIMARY KEY, x INT, y INT, a INT, b VARCHAR(20))",
		want: "ADD COLUMN `z` int DEFAULT NULL FIRST, ADD COLUMN `x` int DEFAULT NULL AFTER `id`, ADD COLUMN `y` int DEFAULT NULL AFTER `x`",
	},
	{name: "drop", from: "(" + base + ", KEY (a), KEY ab (a, b))", to: "(id INT PRIMARY KEY, b VARCHAR(20), KEY ab (b))",
		want: "DROP COLUMN `a`, DROP INDEX `ab`, DROP INDEX `a`, ADD KEY `ab` (`b`)"},
	{
		name: "order",
		from: "(" + base + ")",
		to:   "(id INT PRIMARY KEY, b VARCHAR(20), a INT)",
		want: "MODIFY COLUMN `a` int DEFAULT NULL AFTER `b`",
	},
	{
		name: "rename",
		from: "(" + base + ", KEY k (a))",
		to:   "(id INT PRIMARY KEY, c INT, b VARCHAR(20), KEY k (c))",
		says: map[string]string{"c": "a"},
		want: "RENAME COLUMN `a` TO `c`",
	},
	{
		name: "rename and change",
		from: "(" + base + ", g INT AS (a + 1))",
		to:   "(id INT PRIMARY KEY, b VARCHAR(20), c BIGINT, g INT AS (c + 1))",
		says: map[string]string{"c": "a"},
		want: "CHANGE COLUMN `a` `c` bigint DEFAULT NULL AFTER `b`, MODIFY COLUMN `g` int GENERATED ALWAYS AS ((`c` + 1)) VIRTUAL",
	},
	{
		name: "rename, and the old name as an alias",
		from: "(" + base + ")",
		to:   "(id INT PRIMARY KEY, c INT, a INT AS (c) VIRTUAL, b VARCHAR(20))",
		says: map[string]string{"c": "a"},
		want: "RENAME COLUMN `a` TO `c`, ADD COLUMN `a` int GENERATED ALWAYS AS (`c`) VIRTUAL AFTER `c`",
	},
	{name: "new, not renamed", from: "(" + base + ")", to: "(id INT PRIMARY KEY, c INT, b VARCHAR(20))", says: map[string]string{"c": ""},
		want: "DROP COLUMN `a`, ADD COLUMN `c` int DEFAULT NULL AFTER `id`"},
	{
		name: "letter case",
		from: "(" + base + ", KEY k (a))",
		to:   "(id INT PRIMARY KEY, A INT, b VARCHAR(20), KEY K (a))",
		want: "RENAME COLUMN `a` TO `A`, RENAME INDEX `k` TO `K`",
	},
	{
		name: "table charset",
		from: "(" + base + ", c CHAR(3)) CHARSET latin1",
		to:   "(" + base + " CHARACTER SET latin1, c CHAR(3)) CHARSET utf8mb4",
		want: "MODIFY COLUMN `c` char(3) DEFAULT NULL, DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
	},
	{name: "collation", from: "(" + base + ")", to: "(" + base + " COLLATE utf8mb4_bin)",
		want: "MODIFY COLUMN `b` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL"},
	{
		name: "indexes",
		from: "(" + base + ", KEY k1 (a), KEY k2 (b), UNIQUE k3 (b, a))",
		to:   "(" + base + ", UNIQUE k3 (b), KEY r2 (b), KEY k1 (a) INVISIBLE)",
		want: "DROP INDEX `k3`, ALTER INDEX `k1` INVISIBLE, RENAME INDEX `k2` TO `r2`, ADD UNIQUE KEY `k3` (`b`)",
	},
	{name: "index order", from: "(" + base + ", KEY k1 (a), KEY k2 (b))", to: "(" + base + ", KEY k2 (b), KEY k1 (a))"},
	{name: "primary key", from: "(" + base + ")", to: "(id INT, a INT NOT NULL, b VARCHAR(20), PRIMARY KEY (id, a))",
		want: "DROP PRIMARY KEY, MODIFY COLUMN `a` int NOT NULL, ADD PRIMARY KEY (`id`,`a`)"},
	{name: "generated", from: "(" + base + ", g INT AS (a) VIRTUAL, KEY (g))", to: "(" + base + ", g INT AS (a) STORED, KEY (g))",
		want: "DROP COLUMN `g`, DROP INDEX `g`, ADD COLUMN `g` int GENERATED ALWAYS AS (`a`) STORED, ADD KEY `g` (`g`)"},
	{
		name: "options",
		from: "(" + base + ") COMMENT 'x' ROW_FORMAT=COMPRESSED STATS_PERSISTENT=1 MAX_ROWS=7",
		to:   "(" + base + ") COMMENT 'it''s \\\\' STATS_PERSISTENT=0 ROW_FORMAT=DYNAMIC AUTO_INCREMENT=9",
		want: "COMMENT='it''s \\\\', STATS_PERSISTENT=0, ROW_FORMAT=DYNAMIC, MAX_ROWS=0",
	},
	{name: "auto increment", from: "(" + base + ") AUTO_INCREMENT=5", to: "(" + base + ") AUTO_INCREMENT=50"},
	{
		name: "partitions",
		from: "(" + base + ")",
		to:   "(" + base + ") PARTITION BY HASH (id) PARTITIONS 2",
		want: "PARTITION BY HASH (`id`) PARTITIONS 2",
	},
	{
		name: "partitions and more",
		from: "(" + base + ")",
		to:   "(" + base + ") COMMENT 'x' /*!50100 PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (5) COMMENT 'p', PARTITION q VALUES LESS THAN MAXVALUE) */",
		want: "COMMENT='x' PARTITION BY RANGE (`id`) (PARTITION p VALUES LESS THAN (5) COMMENT = 'p' ENGINE = InnoDB, PARTITION q VALUES LESS THAN MAXVALUE ENGINE = InnoDB)",
	},
	{name: "no partitions", from: "(" + base + ") PARTITION BY HASH (id)", to: "(" + base + ")", want: "REMOVE PARTITIONING"},
	{
		name: "timestamp",
		from: "(" + base + ", t TIMESTAMP NULL)",
		to:   "(" + base + ", t TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3))",
		want: "MODIFY COLUMN `t` timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3)",
	},
	{name: "srid", from: "(" + base + ", p POINT NOT NULL)", to: "(" + base + ", p POINT NOT NULL SRID 4326, SPATIAL KEY (p))",
		want: "MODIFY COLUMN `p` point NOT NULL SRID 4326, ADD SPATIAL KEY `p` (`p`)"},
	{
		name:  "checks",
		from:  "(" + base + ", CHECK (a > 0), CONSTRAINT c2 CHECK (a < 9), CONSTRAINT c3 CHECK (id > 0))",
		to:    "(id INT PRIMARY KEY, a INT CONSTRAINT mine CHECK (a>0), b VARCHAR(20), CONSTRAINT c2 CHECK (a < 10), CHECK (id > 0) NOT ENFORCED)",
		want:  "ALTER CHECK `c3` NOT ENFORCED, DROP CHECK `c2`, ADD CONSTRAINT `c2` CHECK ((`a` < 10))",
		since: "9.7",
	},
	{
		name:  "expressions",
		from:  "(" + base + ", KEY f ((a + 1)))",
		to:    "(" + base + ", c JSON DEFAULT (JSON_ARRAY()), d INT DEFAULT (1 + 1), KEY f ((a + 2)))",
		want:  "DROP INDEX `f`, ADD COLUMN `c` json DEFAULT (json_array()), ADD COLUMN `d` int DEFAULT ((1 + 1)), ADD KEY `f` (((`a` + 2)))",
		since: "9.7",
	},
	{name: "invisible", from: "(" + base + ")", to: "(id INT PRIMARY KEY, a INT INVISIBLE, b VARCHAR(20), c INT DEFAULT 7 INVISIBLE)",
		want: "MODIFY COLUMN `a` int DEFAULT NULL INVISIBLE, ADD COLUMN `c` int DEFAULT '7' INVISIBLE", since: "9.7"},
	{
		name: "nasty names",
		from: "(id INT PRIMARY KEY, `a``b` INT, `(` INT, KEY `,``` (`a``b`, `(`))",
		to:   "(id INT PRIMARY KEY, `a``b` INT COMMENT 'CHARACTER SET x COLLATE y /* ''', `c\n,d` VARCHAR(19) DEFAULT ') COLLATE `x`', `(` INT, KEY `,``` (`a``b`, `(` DESC), KEY ` COMMENT` (`c\n,d`(2)) COMMENT '`x` INVISIBLE')",
		want: "DROP INDEX `,```, MODIFY COLUMN `a``b` int DEFAULT NULL COMMENT 'CHARACTER SET x COLLATE y /* ''', ADD COLUMN `c\n,d` varchar(19) DEFAULT ') COLLATE `x`' AFTER `a``b`, ADD KEY `,``` (`a``b`,`(` DESC), ADD KEY ` COMMENT` (`c\n,d`(2)) COMMENT '`x` INVISIBLE'",
	},
	{
		name: "fulltext",
		from: "(" + base + ")",
		to:   "(" + base + ", FULLTEXT KEY ft (b) WITH PARSER ngram)",
		want: "ADD FULLTEXT KEY `ft` (`b`) WITH PARSER `ngram`",
	},
}

// width removes the display widths that servers before 8.0.19 show.
var width = strings.NewReplacer("bigint(20)", "bigint", "int(11)", "int")

// TestDiff: the clauses are the expected ones, and with them the server makes what the file
// defines.
func TestDiff(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		t.Run(version, func(t *testing.T) {
			t.Parallel() // each has its own server
			b := newBench(t, version)
			for _, c := range diffs {
				if c.since > version {
					continue
				}
				b.says = c.says
				got, err := b.reach("CREATE TABLE t "+c.from, "CREATE TABLE t "+c.to)
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
				if width.Replace(got) != c.want {
					t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
				}
			}
		})
	}
}
