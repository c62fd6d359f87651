package rowchange_test

import (
	"database/sql"
	"testing"

	"midstream/internal/mysql/schema"
)

// TestL11_TheArchiveHasEachValue: values that a strict session refuses come to the archive unchanged, and generated columns are computed.
func TestL11_TheArchiveHasEachValue(t *testing.T) {
	onEach(t, func(r *rig) {
		conn, err := r.db.Conn(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		defer conn.Close()
		for _, statement := range []string{
			"SET SESSION sql_mode = 'ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO'",
			"CREATE TABLE t (id INT PRIMARY KEY, `odd``name` VARCHAR(40), d DATE, dt DATETIME NOT NULL DEFAULT '0000-00-00 00:00:00', b BLOB, " +
				"j JSON, e ENUM('a','b'), s SET('x','y'), f FLOAT, g INT AS (id + 1) STORED, v INT AS (id * 2) VIRTUAL) DEFAULT CHARSET utf8mb4",
			"INSERT INTO t (id, `odd``name`, d, dt, b, j, e, s, f) VALUES (0, 'back\\\\slash', '0000-00-00', '2020-00-00', 0xFF00, '{\"a\": 1.0}', 'a', 'x,y', 0.1), " +
				"(1, 'quote''s', '2020-02-31', '2020-02-30 01:02:03', 0x00, '[]', 0, '', 1e10), (2, '\"dq\"', NULL, DEFAULT, NULL, NULL, NULL, NULL, NULL), (-3, '', '2024-01-01', NOW(), '', '1', 'b', 'y', -0.0)",
		} {
			if _, err := conn.ExecContext(r.Context(), statement); err != nil {
				r.Fatal(err)
			}
		}
		all := func(table string) string {
			var text sql.NullString
			err := conn.QueryRowContext(r.Context(), "SELECT GROUP_CONCAT(CONCAT_WS('|', id, `odd``name`, IFNULL(d, 'NULL'), dt, IFNULL(HEX(b), 'NULL'), "+
				"IFNULL(j, 'NULL'), IFNULL(e + 0, 'NULL'), IFNULL(s + 0, 'NULL'), IFNULL(f, 'NULL'), g, v) ORDER BY id SEPARATOR '; ') FROM "+table).Scan(&text)
			if err != nil {
				r.Fatal(err)
			}
			return text.String
		}
		before := all("t")
		r.options.Rest = schema.Name{Schema: r.name, Table: "rest"}
		if result := r.must("DELETE FROM t WHERE `odd``name` <> 'other' /* all */ AND 'a;b' = 'a;b' -- rows"); result.Archived != 4 {
			r.Errorf("the result is %+v", result)
		}
		if after := all("rest"); after != before {
			r.Errorf("the archive has\n%s, and not\n%s", after, before)
		}
		r.is("SELECT COUNT(*) FROM t", "0")
	})
}

// TestL4_PartitionsAreWalked: rows of a partitioned table come in the order of the key, and each once.
func TestL4_PartitionsAreWalked(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t (id INT, d DATE, n INT DEFAULT 0, PRIMARY KEY (id, d)) PARTITION BY RANGE (YEAR(d)) "+
			"(PARTITION p0 VALUES LESS THAN (2020), PARTITION p1 VALUES LESS THAN (2022), PARTITION p2 VALUES LESS THAN MAXVALUE)",
			"INSERT INTO t (id, d) SELECT i, '2018-01-01' + INTERVAL (i * 7919 % 2500) DAY FROM "+numbers)
		want := r.text("SELECT SUM(d < '2021-01-01' AND id % 3 <> 0) FROM t")
		r.must("UPDATE t SET n = n + 1 WHERE d < '2021-01-01' AND id % 3")
		r.is("SELECT SUM(n = 1 AND d < '2021-01-01' AND id % 3 <> 0) FROM t", want)
		r.is("SELECT SUM(n) FROM t", want)
		r.must("DELETE FROM t WHERE n = 1")
		r.is("SELECT SUM(d < '2021-01-01' AND id % 3 <> 0) FROM t", "0")
	})
}

// TestL11_TextsBeyondASCII: MySQL does not take every text in a generated column, by which the plan has the server judge an expression.
func TestL11_TextsBeyondASCII(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t (id INT PRIMARY KEY, `größe` VARCHAR(20)) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin", "INSERT INTO t VALUES (1, '🎉日本'), (2, '🎈'), (3, NULL)")
		r.must("UPDATE t SET `größe` = CONCAT('🐬', `größe`) WHERE `größe` LIKE '🎉%'")
		r.is("SELECT CONCAT(COUNT(*), HEX(MAX(IF(id = 1, `größe`, '')))) FROM t WHERE `größe` <> '🎈'", "1F09F90ACF09F8E89E697A5E69CAC")
		r.must("DELETE FROM t WHERE `größe` = '🐬🎉日本'")
		r.is("SELECT GROUP_CONCAT(id) FROM t", "2,3")
		r.exec("CREATE TABLE l (id INT PRIMARY KEY, v VARCHAR(20)) DEFAULT CHARSET latin1", "INSERT INTO l VALUES (1, 'é'), (2, 'x'), (3, 'ü')")
		r.must("UPDATE l SET v = CONCAT(v, 'ß') WHERE v = 'É' OR v LIKE \"%Ü\"")
		r.is("SELECT GROUP_CONCAT(HEX(v) ORDER BY id) FROM l", "E9DF,78,FCDF")
	})
}
