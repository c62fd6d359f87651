package migration_test

import "testing"

// TestCompressedColumns: columns of MariaDB's own types come before the key in row events.
func TestCompressedColumns(t *testing.T) {
	sideBySide(t)
	onThese(t, []string{"mariadb-10.11"}, func(b *bench) {
		b.exec(
			"CREATE TABLE "+b.schema+".t (a VARCHAR(2000) COMPRESSED, s VARCHAR(100) COMPRESSED, c TEXT COMPRESSED, u BLOB COMPRESSED, v INT, id INT PRIMARY KEY AUTO_INCREMENT)",
			"INSERT INTO "+b.schema+".t (a, s, c, u, v) VALUES (REPEAT('x', 1500), REPEAT('y', 90), REPEAT('z', 60000), NULL, 1), ('', NULL, 'short', 'u', 2), (NULL, '', NULL, REPEAT('u', 300), 3)",
		)
		stop := b.writing(
			"INSERT INTO t (a, s, c, u, v) SELECT c, s, a, CONCAT(u, 'u'), v FROM t WHERE LENGTH(c) < 2000 OR c IS NULL LIMIT 3",
			"UPDATE t SET v = v + 1, s = REPEAT('s', v % 100) WHERE id < 3",
			"DELETE FROM t WHERE id > 3 ORDER BY id LIMIT 2",
		)
		result := b.mustMigrate("ADD COLUMN added INT, MODIFY a VARCHAR(1900) COMPRESSED")
		stop()
		if result.Captured == 0 {
			b.Error("no change was captured")
		}
	})
}
