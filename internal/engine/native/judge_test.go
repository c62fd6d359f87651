package native_test

import (
	"errors"
	"strings"
	"testing"

	"midstream/internal/engine/native"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/schema"
)

// TestTheServerJudgesExpressions: an expression whose value depends on more than its row is refused, and all others are taken.
func TestTheServerJudgesExpressions(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t2 (id INT AUTO_INCREMENT PRIMARY KEY, a INT, `b c` VARCHAR(20), d DATETIME(3), ts TIMESTAMP NULL, g INT AS (a + 1) STORED," +
			" e ENUM('x','y'), s SET('p','q'), bits BIT(3), j LONGTEXT, f DOUBLE, n DECIMAL(30,10), z DATE NOT NULL DEFAULT '2020-01-01')")
		r.exec("CREATE FUNCTION one() RETURNS INT DETERMINISTIC RETURN 1")
		table, err := schema.Load(t.Context(), r.db, schema.Name{Schema: r.table.Schema, Table: "t2"})
		if err != nil {
			t.Fatal(err)
		}
		pool := r.pool()
		defer pool.Close()
		for _, good := range []string{
			"id > 5", "a IS NOT NULL AND g % 2 = 0", "`b c` LIKE 'x\\_%' OR `b c` = 'it''s'", "d >= '2024-01-01'", "ts >= '2024-01-01 00:00:00'",
			"e = 'x' AND s = 'p,q'", "bits = b'101'", "LENGTH(j) > 3", "ABS(f) < 1e3", "n = ROUND(n, 2)", "YEAR(z) = 2020", "TRUE", "1",
			"a > 1) OR (a < -1", "LOWER(CONCAT(`b c`, '-')) <> 'ä-'", "z < DATE '2024-01-01' - INTERVAL 1 DAY", "NOT (a = 1)",
		} {
			if err := native.Judge(t.Context(), pool, table, "INT", good, false); err != nil {
				t.Errorf("%s: %v", good, err)
			}
		}
		for _, bad := range []string{
			"d > NOW()", "d > CURRENT_TIMESTAMP", "d > SYSDATE()", "z > CURDATE()", "ts > UTC_TIMESTAMP()", "UNIX_TIMESTAMP() > a", "RAND() < 0.5", "UUID() = `b c`",
			"@x = a", "@@sql_mode = ''", "@@global.max_connections > a", "USER() = 'x'", "CURRENT_USER() = 'x'", "CONNECTION_ID() = a", "DATABASE() = 'x'",
			"a IN (SELECT 1)", "EXISTS (SELECT 1 FROM t2)", r.table.Schema + ".one() = a", "one() = a", "SLEEP(1) = a", "GET_LOCK('x', 1) = a", "LAST_INSERT_ID() = a",
			"FOUND_ROWS() = a", "ROW_COUNT() = a", "VERSION() = 'x'", "COUNT(*) > 1", "SUM(a) > 1", "missing = 1", "a >", "", "a = 1; DROP TABLE t2",
			"a = 1) STORED, more INT AS ((1", "? = a", "LOAD_FILE('x') = a", "RANDOM_BYTES(3) = `b c`", "BENCHMARK(2, a) = 0",
		} {
			if err := native.Judge(t.Context(), pool, table, "INT", bad, false); !errors.Is(err, native.ErrRefused) {
				t.Errorf("%s: %v", bad, err)
			}
		}
	})
}

// TestL11_NoSettingOfTheServerRefusesAnExpression: the server gives each table without a key an invisible one, or refuses such tables, or
// prints definitions in another way. That is no matter of the expression.
func TestL11_NoSettingOfTheServerRefusesAnExpression(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	modes := []string{"sql_mode = 'ANSI_QUOTES'", "sql_mode = 'ANSI'", "sql_mode = 'NO_BACKSLASH_ESCAPES'", "sql_mode = 'IGNORE_SPACE'", "sql_mode = 'PIPES_AS_CONCAT'",
		"sql_mode = 'HIGH_NOT_PRECEDENCE'", "sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'", "sql_mode = 'NO_UNSIGNED_SUBTRACTION'", "sql_mode = 'TRADITIONAL'"}
	for version, settings := range map[string][]string{
		"9.7":          append(modes[:len(modes):len(modes)], "sql_generate_invisible_primary_key = ON", "sql_require_primary_key = ON"),
		"5.7":          append(modes[:len(modes):len(modes)], "sql_mode = 'MSSQL'", "sql_mode = 'ORACLE'"),
		"mariadb-11.8": append(modes[:len(modes):len(modes)], "innodb_force_primary_key = ON", "sql_mode = 'MSSQL'", "sql_mode = 'ORACLE'"),
	} {
		with(t, version, mysqltest.Own(t, version, sandbox.Options{}), func(r *rig) {
			table, err := schema.Load(t.Context(), r.db, r.table)
			if err != nil {
				t.Fatal(err)
			}
			for _, setting := range settings {
				name, _, _ := strings.Cut(setting, " = ")
				r.exec("SET GLOBAL " + setting)
				pool := r.pool()
				for _, judging := range []struct{ as, expression string }{
					{"INT", "id > 5 AND `v` < 3 OR s = 'it''s'"}, {"INT", "s IS NOT NULL"}, {"VARCHAR(20)", "LEFT(s, 3)"}, {"DOUBLE", "`v` / 3 - id"},
				} {
					if err := native.Judge(t.Context(), pool, table, judging.as, judging.expression, false); err != nil {
						t.Errorf("%s, %s: %v", setting, judging.expression, err)
					}
				}
				pool.Close()
				r.exec("SET GLOBAL " + name + " = DEFAULT")
			}
		})
	}
}
