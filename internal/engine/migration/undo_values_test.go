package migration_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// TestU5_ParkedRowsKeepTheValuesOfDroppedColumns: an undo parks rows of the old table, its redo brings them back, and they fit the
// second undo. They have the values again that the dropped columns had at the swap, whatever the key and the types of the columns
// are. A row that was new is filled.
func TestU5_ParkedRowsKeepTheValuesOfDroppedColumns(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		table := b.schema + ".t"
		b.cfg.Undo = time.Hour
		for _, c := range []struct{ name, columns, more string }{
			{"plain", "id INT PRIMARY KEY", ""},
			{"another unique key", "id INT PRIMARY KEY, u INT AS (id + 1) STORED, UNIQUE KEY (u)", ""},
			{"key of two columns", "id INT, k VARCHAR(9) CHARACTER SET latin1 NOT NULL DEFAULT 'ä', PRIMARY KEY (k, id)", ""},
			{"key of another type", "id INT PRIMARY KEY", ", MODIFY id BIGINT"},
			{"renamed key", "id INT PRIMARY KEY", ", CHANGE id nr INT"},
			{"key with the name of a dropped column", "id INT PRIMARY KEY, nr INT NOT NULL DEFAULT 3", ", DROP COLUMN nr, CHANGE id nr INT"},
		} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema, "CREATE TABLE "+table+" ("+c.columns+", a SMALLINT,"+
				" note VARCHAR(20) NOT NULL DEFAULT 'd', n VARCHAR(9) NULL DEFAULT 'd', s SET('','x','y') NULL, z TIMESTAMP NOT NULL DEFAULT '2020-01-02')")
			for id := range 6 {
				b.exec(fmt.Sprintf("INSERT INTO %s (id, a, note, n, s, z) VALUES (%d, %[2]d, 'note %[2]d', NULL, %[2]d, '2021-01-0%d')", table, id, id+1))
			}
			rows := "SELECT GROUP_CONCAT(CONCAT_WS(' ', id, a, note, IFNULL(n, 'null'), s + 0, z) ORDER BY id SEPARATOR ', ') FROM " + table
			before := b.value(rows)
			b.mustMigrate("DROP COLUMN note, DROP COLUMN n, DROP COLUMN s, DROP COLUMN z, MODIFY a INT" + c.more)
			key := "id"
			if strings.Contains(c.more, " nr ") {
				key = "nr"
			}
			for range 2 { // the second time with the values of the first
				b.exec("UPDATE "+table+" SET a = 100000 WHERE "+key+" IN (1, 2, 4)", "INSERT INTO "+table+" ("+key+", a) VALUES (7, 100000)")
				b.mustUndo(planning.Undo{Park: true})
				b.mustUndo(planning.Undo{})
				b.exec("UPDATE "+table+" SET a = "+key, "DELETE FROM "+table+" WHERE "+key+" = 7")
			}
			b.exec("INSERT INTO " + table + " (" + key + ", a) VALUES (8, 8)")
			b.mustUndo(planning.Undo{})
			b.exec("DELETE FROM " + table + " WHERE id = 8 AND note = 'd' AND n = 'd' AND s IS NULL AND z = '2020-01-02'")
			if after := b.value(rows); after != before {
				b.Errorf("%s: the rows were\n%s, and are\n%s", c.name, before, after)
			}
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// TestU5_RowsThatARedoParksKeepTheValuesOfAddedColumns: the redo is the same with the roles exchanged. What an undo has parked does
// not count for it, although both tables have a column of one name that the other one lacks.
func TestU5_RowsThatARedoParksKeepTheValuesOfAddedColumns(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		table := b.schema + ".t"
		b.cfg.Undo = time.Hour
		b.exec("CREATE TABLE "+table+" (id INT PRIMARY KEY, a INT, s SMALLINT, note VARCHAR(20) NOT NULL DEFAULT 'd')",
			"INSERT INTO "+table+" VALUES (1, 1, 1, 'first'), (2, 2, 2, 'second'), (3, 3, 3, 'third')")
		b.mustMigrate("DROP COLUMN note, MODIFY a SMALLINT, MODIFY s INT, ADD COLUMN note2 INT NOT NULL DEFAULT 7")
		b.exec("UPDATE "+table+" SET note2 = id * 10", "UPDATE "+table+" SET s = 100000 WHERE id = 1")
		b.mustUndo(planning.Undo{Park: true}) // row 1, with "first"
		b.exec("UPDATE " + table + " SET a = 100000 WHERE id = 2")
		b.mustUndo(planning.Undo{Park: true}) // row 2, with 20
		b.exec("UPDATE " + table + " SET s = id")
		b.mustUndo(planning.Undo{})
		const rows = "SELECT GROUP_CONCAT(id, ' ', a, ' ', s, ' ', %s ORDER BY id SEPARATOR ', ') FROM %s"
		if got := b.value(fmt.Sprintf(rows, "note", table)); got != "1 1 1 first, 3 3 3 third" {
			b.Errorf("after the undo, the rows are %s", got)
		}
		b.exec("UPDATE "+table+"_parked2 SET a = id", "INSERT INTO "+table+" SELECT * FROM "+table+"_parked2") // as its user would
		b.mustUndo(planning.Undo{})
		if got := b.value(fmt.Sprintf(rows, "note2", table)); got != "1 1 1 10, 2 2 2 20, 3 3 3 30" {
			b.Errorf("after the redo, the rows are %s", got)
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// TestU5_ParkedRowsOfAnotherKeyHaveTheirValuesInATable: the change has altered the key, so the redo cannot be taken back. A table has
// the values that dropped columns had in parked rows, and no command drops it before the user does.
func TestU5_ParkedRowsOfAnotherKeyHaveTheirValuesInATable(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		table := b.schema + ".t"
		b.exec("CREATE TABLE "+table+" (k VARCHAR(9) CHARACTER SET latin1 PRIMARY KEY, a SMALLINT, note VARCHAR(20) NOT NULL DEFAULT 'd')",
			"INSERT INTO "+table+" VALUES ('ä', 1, 'first'), ('b', 2, 'second'), ('c', 3, 'third')")
		b.natively("MODIFY k VARCHAR(9) CHARACTER SET utf8mb4, MODIFY a INT, DROP COLUMN note", "--undo=1h", "--method=shadow").mustEnd()
		b.exec("UPDATE "+table+" SET a = 100000 WHERE k IN ('ä', 'c')", "INSERT INTO "+table+" VALUES ('new', 100000), ('€𝄞', 5)")
		b.undoing("--park").mustEnd()
		if got := b.value("SELECT GROUP_CONCAT(k, ' ', note ORDER BY k) FROM " + table); got != "b second" {
			b.Errorf("the rows are %s", got)
		}
		values := "SELECT GROUP_CONCAT(k, ' ', a, ' ', IFNULL(note, 'none') ORDER BY note) FROM " + table + "_parked LEFT JOIN " + table + "_parked_values USING (k)"
		check := func(after string) {
			if got := b.value(values); got != "new 100000 none,€𝄞 5 none,ä 100000 first,c 100000 third" && got != "€𝄞 5 none,new 100000 none,ä 100000 first,c 100000 third" {
				b.Errorf("after %s, the parked rows are %s", after, got)
			}
		}
		check("the undo")
		b.undoing().mustEnd()
		b.undoing("--end").mustEnd()
		b.mustMigrate("ADD COLUMN w INT")
		check("the end and another change")
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// TestU5_AnUndoByAllRowsFollowsTheKeysOfRows: rows change their keys after the swap, also onto keys of other rows, and before, during
// and after a killed undo. An undo by all rows gives each row its values. So does a lazy one after that.
func TestU5_AnUndoByAllRowsFollowsTheKeysOfRows(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		table := b.schema + ".t"
		move := func(from, to int) string { return fmt.Sprintf("UPDATE %s SET id = %d WHERE id = %d", table, to, from) }
		for _, c := range []struct{ unique, last string }{{"", "--cold"}, {", UNIQUE KEY (u)", "--cold"}, {"", "--lazy"}} {
			b.exec("CREATE TABLE " + table + " (id INT PRIMARY KEY, u INT, note VARCHAR(20) NOT NULL DEFAULT 'd'" + c.unique + ")")
			for id := range 9 {
				b.exec(fmt.Sprintf("INSERT INTO %s VALUES (%d, %[2]d, 'note %[2]d')", table, id))
			}
			b.natively("DROP COLUMN note", "--undo=1h", "--method=shadow").mustEnd()
			b.exec(move(1, 101), move(2, 1), move(3, 103), move(103, 3), move(4, 104), move(104, 204), "INSERT INTO "+table+" VALUES (4, 44)")
			rule := fault.Rule{At: "RENAME TABLE `" + b.schema + "`.`t`"}
			if code, last := b.killIf(rule, func() *child { return b.undoing("--cold") }); code != -1 {
				b.Fatalf("the undo was not killed: %d: %s", code, last)
			}
			b.exec(move(5, 105), move(101, 102), move(6, 5))
			if c.last == "--lazy" {
				b.afterCleanup()
			}
			b.undoing(c.last).mustEnd()
			got := b.value("SELECT GROUP_CONCAT(id, ' ', u, ' ', note ORDER BY id SEPARATOR ', ') FROM " + table)
			if want := "0 0 note 0, 1 2 note 2, 3 3 note 3, 4 44 d, 5 6 note 6, 7 7 note 7, 8 8 note 8, 102 1 note 1, 105 5 note 5, 204 4 note 4"; got != want {
				b.Errorf("%+v: the rows are\n%s, and should be\n%s", c, got, want)
			}
			b.undoing("--end").mustEnd()
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
		}
	})
}

// TestU5_ParkedValuesGoToTheirRowsAlone: a parked row has come back, and moves, or is deleted. A row that is new under its former key
// has the default, in each undo after that. Nor has it the values of a table that only has the name of that of the values.
func TestU5_ParkedValuesGoToTheirRowsAlone(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		table := b.schema + ".t"
		b.cfg.Undo = time.Hour
		const back, undo, park = "UPDATE %s SET a = 1", "undo", "park"
		for _, c := range []struct {
			what  string
			steps []string
			want  string
		}{
			{"moved", []string{back, "UPDATE %s SET id = 100 WHERE id = 1", undo, undo, "INSERT INTO %s VALUES (1, 1)", undo}, "1 d, 2 second, 3 null, 100 first"},
			{"moved, and the new row is parked", []string{"UPDATE %s SET id = 9 WHERE id = 1", "INSERT INTO %s VALUES (1, 100000)", park, undo, back, undo},
				"1 d, 2 second, 3 null, 9 first"},
			{"deleted after the undo", []string{back, undo, "DELETE FROM %s WHERE id = 1", undo, "INSERT INTO %s VALUES (1, 1)", undo}, "1 d, 2 second, 3 null"},
			{"deleted, and the new row moves", []string{back, "DELETE FROM %s WHERE id = 1", undo, undo, "INSERT INTO %s VALUES (1, 1)",
				"UPDATE %s SET id = 50 WHERE id = 1", undo}, "2 second, 3 null, 50 d"},
			{"another table of that name", []string{back, "DROP TABLE %s_parked_values", "CREATE TABLE %s_parked_values (id INT PRIMARY KEY, note VARCHAR(20))",
				"INSERT INTO %s_parked_values VALUES (1, 'foreign')", undo}, "1 d, 2 second, 3 null"},
		} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema, "CREATE TABLE "+table+" (id INT PRIMARY KEY, a INT, note VARCHAR(20) DEFAULT 'd')",
				"ALTER TABLE "+table+" MODIFY a SMALLINT", "INSERT INTO "+table+" VALUES (1, 1, 'first'), (2, 2, 'second'), (3, 3, NULL)")
			b.mustMigrate("DROP COLUMN note, MODIFY a INT")
			b.exec("UPDATE " + table + " SET a = 100000 WHERE id = 1")
			for _, step := range append([]string{park, undo}, c.steps...) {
				if step == park || step == undo {
					b.mustUndo(planning.Undo{Park: step == park})
				} else {
					b.exec(fmt.Sprintf(step, table))
				}
			}
			got := b.value("SELECT GROUP_CONCAT(id, ' ', IFNULL(note, 'null') ORDER BY id SEPARATOR ', ') FROM " + table)
			if got != c.want {
				b.Errorf("%s: the rows are %s, want %s", c.what, got, c.want)
			}
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}
