package migration_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/park"
	"midstream/internal/engine/planning"
)

// TestU4_RowsOfALaxSessionComeBack: a session without a strict sql_mode has written rows for which a strict one has an error, as the
// server computes their generated columns. The undo brings them back as they were, whether it looks at the changed rows or at all.
func TestU4_RowsOfALaxSessionComeBack(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		table := b.schema + ".t"
		for _, kind := range []string{"STORED", "VIRTUAL"} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
			lax := b.conn()
			for _, s := range []string{
				"SET NAMES utf8mb4", "SET SESSION sql_mode = ''",
				"CREATE TABLE " + table + " (id INT PRIMARY KEY, c VARCHAR(40) CHARACTER SET utf8mb4, n INT, " +
					"g VARCHAR(40) CHARACTER SET latin1 AS (UPPER(c)) " + kind + ", d INT AS (100 / n) " + kind + ", KEY (g)) CHARACTER SET utf8mb4",
				"INSERT INTO " + table + " (id, c, n) VALUES (1, 'a', 1), (2, 'b😀', 2), (3, 'c', 0), (4, 'é', 4), (5, 'a😀', 5)",
			} {
				if _, err := lax.ExecContext(b.ctx(), s); err != nil {
					b.Fatalf("%s: %v", s, err)
				}
			}
			rows := func() string {
				return b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, HEX(c), n, HEX(g), IFNULL(d, '-')) ORDER BY id) FROM " + table)
			}
			before := strings.Replace(rows(), ",5 61F09F9880 5 413F 20", "", 1)
			b.cfg.Undo = time.Hour
			b.Cleanup(func() { b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_undo") })
			b.mustMigrate("DROP COLUMN g, DROP COLUMN d, ADD COLUMN more INT")
			b.exec("DELETE FROM " + table + " WHERE id = 5") // 5.7 computes g as it deletes the row from the old table
			b.mustUndo(planning.Undo{})
			if got := rows(); got != before {
				b.Errorf("%s: the rows are %s, want %s", kind, got, before)
			}
		}
	})
}

// TestU4_ARowThatReplacesALaxOneFits: the old table has a row for which a strict session has an error as the server computes its
// generated column, and the application has given that row a value that fits. MariaDB computes the old row once more as it is
// overwritten. The undo writes the row instead of listing or parking it.
func TestU4_ARowThatReplacesALaxOneFits(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		table := b.schema + ".t"
		for _, kept := range []string{"", ", DROP COLUMN k", ", DROP COLUMN k, MODIFY id BIGINT"} {
			for _, cold := range []bool{false, true} {
				b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
				lax := b.conn()
				for _, s := range []string{
					"SET NAMES utf8mb4", "SET SESSION sql_mode = ''",
					"CREATE TABLE " + table + " (id INT PRIMARY KEY, c VARCHAR(40) CHARACTER SET utf8mb4, k INT NOT NULL DEFAULT 7, " +
						"g VARCHAR(40) CHARACTER SET latin1 AS (UPPER(c)) VIRTUAL, KEY (g)) CHARACTER SET utf8mb4",
					"INSERT INTO " + table + " (id, c, k) VALUES (1, 'a', 1), (2, 'b😀', 2), (3, 'c😀', 3), (4, 'd', 4), (5, 'e😀', 5)",
				} {
					if _, err := lax.ExecContext(b.ctx(), s); err != nil {
						b.Fatalf("%s: %v", s, err)
					}
				}
				b.cfg.Undo = time.Hour
				b.Cleanup(func() { b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_undo") })
				b.mustMigrate("DROP COLUMN g, ADD COLUMN more INT" + kept)
				b.exec("UPDATE "+table+" SET c = 'two' WHERE id = 2", "REPLACE INTO "+table+" (id, c) VALUES (3, NULL)",
					"UPDATE "+table+" SET c = 'four' WHERE id = 4", "DELETE FROM "+table+" WHERE id = 5")
				b.mustUndo(planning.Undo{Cold: cold})
				want := "1 a A 1,2 two TWO 2,3 - - 3,4 four FOUR 4"
				if kept == "" {
					want = strings.Replace(want, "- - 3", "- - 7", 1)
				}
				got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, IFNULL(c, '-'), IFNULL(g, '-'), k) ORDER BY id) FROM " + table)
				if got != want {
					b.Errorf("%q, cold %t: the rows are %s, want %s", kept, cold, got, want)
				}
			}
		}
	})
}

// TestU4_AnEmptyVectorDoesNotFit: a lax session leaves a VECTOR without a value empty, and the server writes such a value in no
// other table. The undo names the row instead of ending with the server's error.
func TestU4_AnEmptyVectorDoesNotFit(t *testing.T) {
	sideBySide(t)
	b := setup(t, "9.7")
	b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, v VECTOR(3) NOT NULL)", "INSERT INTO "+b.schema+".t VALUES (1, STRING_TO_VECTOR('[1,2,3]'))")
	b.cfg.Undo = time.Hour
	b.Cleanup(func() { b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_undo") })
	b.mustMigrate("ADD COLUMN added INT")
	lax := b.conn()
	for _, s := range []string{"SET SESSION sql_mode = ''", "REPLACE INTO " + b.schema + ".t (id, added) VALUES (2, 2)"} {
		if _, err := lax.ExecContext(b.ctx(), s); err != nil {
			b.Fatalf("%s: %v", s, err)
		}
	}
	for _, parks := range []bool{false, true} {
		if _, err := b.undo(b.ctx(), planning.Undo{Park: parks}); !errors.Is(err, park.ErrUnfit) {
			b.Fatalf("parks %t: the undo ends with %v", parks, err)
		}
	}
	b.exec("DELETE FROM " + b.schema + ".t WHERE id = 2")
	b.mustUndo(planning.Undo{})
	if n := b.value("SELECT COUNT(*) FROM " + b.schema + ".t"); n != "1" {
		b.Errorf("%s rows are left", n)
	}
}

// TestU4_ARowThatCannotBeComparedIsParked: the old table refuses a row, and the server has an error where its value is compared.
// The undo parks it.
func TestU4_ARowThatCannotBeComparedIsParked(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		table := b.schema + ".t"
		for _, capture := range []string{"binlog", "triggers"} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
				"CREATE TABLE "+table+" (id INT PRIMARY KEY, d DOUBLE NOT NULL, v BIGINT UNSIGNED, g DECIMAL(30,4) AS (v / 3) VIRTUAL, KEY (g), "+
					"UNIQUE KEY u (d, v))", "INSERT INTO "+table+" (id, d, v) VALUES (1, 1, 1)")
			b.cfg.Undo = time.Hour
			b.Cleanup(func() {
				b.exec("DROP TABLE IF EXISTS "+b.schema+".t_undo", "DROP TABLE IF EXISTS "+b.schema+".t_parked")
			})
			flags := []string{"MODIFY v VARBINARY(60)", "--undo=1h", "--method=shadow"}
			if capture == "triggers" {
				flags = append(flags, "--capture=trigger")
			}
			b.natively(flags[0], flags[1:]...).mustEnd()
			lax := b.conn()
			for _, s := range []string{"SET SESSION sql_mode = ''", "INSERT INTO " + table + " (id, d, v) VALUES (2, 2, X'0000000001010000000000'), (3, 3, 'three')"} {
				if _, err := lax.ExecContext(b.ctx(), s); err != nil {
					b.Fatal(err)
				}
			}
			b.undoing("--park").mustEnd()
			if got := b.value("SELECT GROUP_CONCAT(id ORDER BY id) FROM " + b.schema + ".t_parked"); got != "2,3" {
				b.Errorf("%s: parked are %s", capture, got)
			}
			b.undoing("--end").mustEnd()
		}
	})
}
