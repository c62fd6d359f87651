package migration_test

import (
	"testing"
	"time"

	"midstream/internal/engine/planning"
	"midstream/internal/lab/mysqltest"
)

// TestU5_ColumnsWithAComputedDefaultComeBack: a dropped column has an expression as its default. Rows that have changed since
// keep its values.
func TestU5_ColumnsWithAComputedDefaultComeBack(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, []string{"mariadb-11.8", "9.7", "mariadb-10.11"}), func(b *bench) {
		for _, key := range []string{"PRIMARY KEY (id)", "PRIMARY KEY (id), UNIQUE (u)", "UNIQUE (id)"} {
			b.exec("CREATE TABLE "+b.schema+".t (id INT NOT NULL, u INT, v INT, k INT DEFAULT (7 DIV 2), x INT DEFAULT (v + 1), "+key+")",
				"INSERT INTO "+b.schema+".t VALUES (1, 1, 1, 10, 11), (2, 2, 2, 20, 21), (3, 3, 3, NULL, NULL)")
			b.cfg.Undo = time.Hour
			b.mustMigrate("DROP COLUMN k, DROP COLUMN x")
			b.exec("UPDATE "+b.schema+".t SET v = 9", "INSERT INTO "+b.schema+".t VALUES (4, 4, 4)")
			b.mustUndo(planning.Undo{})
			got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, v, IFNULL(k, 'NULL'), IFNULL(x, 'NULL')) ORDER BY id SEPARATOR ', ') FROM " + b.schema + ".t")
			if want := "1 9 10 11, 2 9 20 21, 3 9 NULL NULL, 4 4 3 5"; got != want {
				b.Errorf("%s: %s, want %s", key, got, want)
			}
			b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE "+b.schema+".t_undone", "DROP TABLE "+b.schema+".t_undo")
		}
	})
}

// TestU4_LostDefaultsAndBlockSizesComeBack: the server drops a default, and a column without one is not the same as a column whose
// default is NULL. Or it gives the table a KEY_BLOCK_SIZE, which its indexes would keep. The undo and the redo make what was.
func TestU4_LostDefaultsAndBlockSizesComeBack(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, []string{"5.7", "9.7", "mariadb-10.11"}), func(b *bench) {
		for _, clauses := range []string{"ALTER COLUMN b DROP DEFAULT, ALTER COLUMN v DROP DEFAULT", "KEY_BLOCK_SIZE=8"} {
			b.exec("CREATE TABLE " + b.schema + ".t (id INT PRIMARY KEY," +
				" b TIMESTAMP NULL DEFAULT '2020-01-01 00:00:00', v INT DEFAULT 5, KEY k (v))")
			before := b.shown("t")
			b.natively(clauses, "--undo=1h").mustEnd()
			changed := b.shown("t")
			for _, want := range []string{before, changed, before} {
				b.undoing().mustEnd()
				b.mustBeShown(want)
			}
			b.undoing("--end").mustEnd()
			b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE IF EXISTS "+b.schema+".t_undone", "DROP TABLE IF EXISTS "+b.schema+".t_old")
		}
	})
}

// TestU4_ColumnsWithoutADefaultComeBack: a column once had a default and has none now, not even NULL; or the server takes it from
// a TIMESTAMP. A MODIFY would give it a default, so the undo and the redo do without it.
func TestU4_ColumnsWithoutADefaultComeBack(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onThese(t, inTurn(t, []string{"5.7", "9.7", "mariadb-10.11"}), func(b *bench) {
		for _, clauses := range []string{"ALTER COLUMN c DROP DEFAULT", "MODIFY w VARCHAR(9) COMMENT 'x'", "CHANGE w x VARCHAR(9)", "MODIFY e TEXT COMMENT 'x'"} {
			b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, w VARCHAR(9) DEFAULT 'w', e TEXT, a TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,"+
				" c TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)", "ALTER TABLE "+b.schema+".t ALTER COLUMN w DROP DEFAULT")
			before := b.shown("t")
			b.natively(clauses, "--undo=1h", "--zero-dates").mustEnd()
			changed := b.shown("t")
			for _, want := range []string{before, changed, before} {
				b.undoing().mustEnd()
				b.mustBeShown(want)
			}
			b.undoing("--end").mustEnd()
			b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE IF EXISTS "+b.schema+".t_undone", "DROP TABLE IF EXISTS "+b.schema+".t_old")
		}
	})
}
