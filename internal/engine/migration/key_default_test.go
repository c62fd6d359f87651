package migration_test

import (
	"fmt"
	"strings"
	"testing"

	"midstream/internal/engine/event"
)

// equalRows fails if one of two tables has a row more often than the other.
func (b *bench) equalRows(columns, one, other string) {
	b.Helper()
	query := "SELECT COUNT(*) FROM (SELECT 1 FROM (SELECT %[1]s, 1 AS n FROM %[2]s UNION ALL SELECT %[1]s, -1 FROM %[3]s) AS rows_of GROUP BY %[4]s HAVING SUM(n) <> 0) AS x"
	var list, bytes []string
	for _, c := range strings.Split(columns, ", ") {
		list, bytes = append(list, "HEX(CONVERT(CONCAT("+c+") USING utf8mb4)) AS "+c), append(bytes, c)
	}
	if got := b.value(fmt.Sprintf(query, strings.Join(list, ", "), one, other, strings.Join(bytes, ", "))); got != "0" {
		b.Errorf("%s and %s differ in %s rows", one, other, got)
	}
}

// TestL3_ADefaultInTheKeyIsFollowed: with MINIMAL row images, the event of an INSERT lacks the columns that have their default. The run
// follows such rows by the default as the server stores it.
func TestL3_ADefaultInTheKeyIsFollowed(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		definitions := []string{
			"INT NOT NULL DEFAULT 7", "INT NULL DEFAULT 3", "VARCHAR(9) CHARACTER SET latin1 NOT NULL DEFAULT 'é'", "ENUM('a', 'b') NOT NULL DEFAULT 'b'",
			"SET('a', 'b') NOT NULL DEFAULT 'a,b'", "DATETIME(3) NOT NULL DEFAULT '2024-01-02 03:04:05.6'", "DECIMAL(8,2) NOT NULL DEFAULT -1.5",
			"BIT(9) NOT NULL DEFAULT b'101'", "TIME NOT NULL DEFAULT '-01:02:03'", "BINARY(3) NOT NULL DEFAULT 'a'", "DOUBLE NOT NULL DEFAULT 0.1",
			"TIMESTAMP NOT NULL DEFAULT '2024-01-02 03:04:05'", "CHAR(5) CHARACTER SET utf8mb4 NOT NULL DEFAULT 'x'", "YEAR NOT NULL DEFAULT 2024",
		}
		if b.version == "9.7" || isMariaDB(b.version) {
			definitions = append(definitions, "INT NOT NULL DEFAULT 7 INVISIBLE")
		}
		for _, definition := range definitions {
			b.exec("CREATE TABLE t (a INT NOT NULL, b "+definition+", x INT NOT NULL DEFAULT 0, UNIQUE KEY u (a, b), KEY (b))", "INSERT INTO t (a) VALUES (1), (2), (3)")
			writer := b.conn()
			write := func(statements ...string) {
				for _, s := range append([]string{"SET SESSION binlog_row_image = 'MINIMAL'"}, statements...) {
					if _, err := writer.ExecContext(b.ctx(), s); err != nil {
						b.Errorf("%s: %v", s, err)
					}
				}
			}
			result := b.mustMigrate("ADD COLUMN n INT", onPhase(event.PhaseVerify, func() {
				write("INSERT INTO t (a) VALUES (4)", "INSERT INTO t (a, x) VALUES (5, 5)", "UPDATE t SET a = 6 WHERE a = 1", "DELETE FROM t WHERE a = 2", "UPDATE t SET x = 1 WHERE a = 3")
			}))
			if result.Repaired > 0 {
				b.Errorf("%s: %d rows differed", definition, result.Repaired)
			}
			b.equalRows("a, b, x", "t", "t_old")
			b.exec("DROP TABLE t, t_old")
		}
	})
}
