package migration_test

import (
	"errors"
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
				"INSERT INTO " + table + " (id, c, n) VALUES (1, 'a', 1), (2, 'b😀', 2), (3, 'c', 0), (4, 'é', 4)",
			} {
				if _, err := lax.ExecContext(b.ctx(), s); err != nil {
					b.Fatalf("%s: %v", s, err)
				}
			}
			rows := func() string {
				return b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, HEX(c), n, HEX(g), IFNULL(d, '-')) ORDER BY id) FROM " + table)
			}
			before := rows()
			b.cfg.Undo = time.Hour
			b.Cleanup(func() { b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_undo") })
			b.mustMigrate("DROP COLUMN g, DROP COLUMN d, ADD COLUMN more INT")
			b.mustUndo(planning.Undo{})
			if got := rows(); got != before {
				b.Errorf("%s: the rows are %s, want %s", kind, got, before)
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
