package native_test

import (
	"errors"
	"testing"

	"midstream/internal/engine/native"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// TestTheServerJudgesExpressionsForColumns: an expression that gives a column its values is judged with the type of the column.
func TestTheServerJudgesExpressionsForColumns(t *testing.T) {
	onAll(t, func(r *rig) {
		r.exec("CREATE TABLE t2 (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b INT UNSIGNED, name VARCHAR(60), code CHAR(10), d DATETIME(3), ts TIMESTAMP NULL," +
			" e ENUM('x','y'), s SET('p','q'), f DOUBLE, n DECIMAL(30,10), z DATE NOT NULL DEFAULT '2020-01-01', j LONGTEXT, raw VARBINARY(20))")
		r.exec("CREATE FUNCTION one() RETURNS INT DETERMINISTIC RETURN 1")
		table, err := schema.Load(t.Context(), r.db, schema.Name{Schema: r.table.Schema, Table: "t2"})
		if err != nil {
			t.Fatal(err)
		}
		pool := r.pool()
		defer pool.Close()
		for _, c := range [][2]string{
			{"varchar(200)", "LOWER(name)"}, {"varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "LEFT(name, 40)"}, {"int", "a + b"}, {"bigint unsigned", "id * 2"},
			{"int", "CHAR_LENGTH(name)"}, {"date", "DATE(d)"}, {"datetime", "z"}, {"enum('a','b')", "IF(a > 1, 'a', 'b')"}, {"set('p','q')", "CONCAT_WS(',', s)"},
			{"decimal(10,2)", "ROUND(n, 2)"}, {"double", "f / 3.5"}, {"bit(1)", "a IS NULL"}, {"text", "CONCAT(name, '-', a)"}, {"varbinary(20)", "REVERSE(raw)"},
			{"char(10)", "UPPER(name)"}, {"year", "YEAR(z)"}, {"time", "TIME(z)"}, {"varchar(10)", "COALESCE(name, '')"}, {"int", "a"}, {"varchar(10)", "NULL"},
			{"varchar(10)", "'it''s'"}, {"varchar(100)", "LOWER(code)"}, {"varchar(100)", "CONCAT(code, name)"}, {"datetime(3)", "d"}, {"datetime(6)", "ts"}, {"timestamp(3)", "d"},
			{"varchar(100)", "TRIM(name)"}, {"varchar(100)", "CONCAT(YEAR(d), '-', MONTH(d))"}, {"int", "CASE e WHEN 'x' THEN 1 ELSE 2 END"},
		} {
			if err := native.Judge(t.Context(), pool, table, c[0], c[1], false); err != nil {
				t.Errorf("%s: %s: %v", c[0], c[1], err)
			}
		}
		for _, bad := range []string{
			"NOW()", "CURRENT_TIMESTAMP", "CURDATE()", "SYSDATE()", "UNIX_TIMESTAMP()", "RAND()", "UUID()", "UUID_SHORT()", "@x", "@x := a", "@@sql_mode", "USER()", "CURRENT_USER",
			"CONNECTION_ID()", "DATABASE()", "(SELECT 1)", "(SELECT MAX(a) FROM t2)", "one()", r.table.Schema + ".one()", "SLEEP(0)", "LAST_INSERT_ID()", "VERSION()",
			"COUNT(*)", "MAX(a)", "missing", "t2.a", "VALUES(a)", "DEFAULT(a)", "DEFAULT", "a, b", "(a, b)", "a; DROP TABLE t2", "a) STORED, more INT AS ((1", "?", "",
			"ROW_NUMBER() OVER ()", "MATCH (name) AGAINST ('x')", "*", "a AS b", "a FROM t2",
		} {
			if err := native.Judge(t.Context(), pool, table, "varchar(100)", bad, false); !errors.Is(err, native.ErrRefused) {
				t.Errorf("%s: %v", bad, err)
			}
		}
	})
}

// onAll runs a test on one of all servers, in turn.
func onAll(t *testing.T, test func(r *rig)) {
	for _, version := range mysqltest.InTurn(t, append(versions, "mariadb-11.8")...) {
		t.Run(version, func(t *testing.T) { on(t, version, test) })
	}
}
