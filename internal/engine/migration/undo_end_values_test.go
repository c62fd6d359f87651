package migration_test

import (
	"strings"
	"testing"

	"midstream/internal/engine/leftovers"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// TestU5_ParkedRowsKeepTheirValuesAfterTheEnd: an undo has parked a row, its redo has brought it back, and then the undo is given up, or
// its record is gone. An undo by all rows gives the row the values of the dropped columns, and a new row none.
func TestU5_ParkedRowsKeepTheirValuesAfterTheEnd(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		table := b.schema + ".t"
		for _, c := range []struct {
			what  string
			end   func()
			flags []string
		}{
			{"the end", func() { b.undoing("--end").mustEnd() }, nil},
			{"the loss of the record", func() { b.exec("DROP TABLE " + table + "_undo") }, nil},
			{"another change", func() { b.natively("ADD COLUMN w INT", "--method=shadow", "--end-undo").mustEnd() }, []string{"--shadow-name=t_old", "--map", "=w"}},
			{"a killed undo", func() {
				b.undoing("--end").mustEnd()
				rule := fault.Rule{At: "RENAME TABLE `" + b.schema + "`.`t`"}
				if code, last := b.killIf(rule, func() *child { return b.undoing("--cold") }); code != -1 {
					b.Fatalf("not killed: %d: %s", code, last)
				}
			}, nil},
		} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
				"CREATE TABLE "+table+" (id INT PRIMARY KEY, a SMALLINT, note VARCHAR(20) NOT NULL DEFAULT 'd') COMMENT 'its comment'",
				"INSERT INTO "+table+" VALUES (1, 1, 'first'), (2, 2, 'second'), (3, 3, 'third')")
			b.natively("MODIFY a INT, DROP COLUMN note", "--undo=1h", "--method=shadow").mustEnd()
			b.exec("UPDATE "+table+" SET a = 100000 WHERE id = 1", "UPDATE "+table+" SET a = 100000 WHERE id = 3")
			b.undoing("--park").mustEnd()
			b.undoing().mustEnd()
			b.exec("UPDATE "+table+" SET a = id", "DELETE FROM "+table+" WHERE id = 3", "INSERT INTO "+table+" (id, a) VALUES (4, 4)")
			c.end()
			b.undoing(append([]string{"--cold"}, c.flags...)...).mustEnd()
			if got := b.value("SELECT GROUP_CONCAT(id, ' ', note ORDER BY id) FROM " + table); got != "1 first,2 second,4 d" {
				b.Errorf("after %s, the rows are %s", c.what, got)
			}
			if got := b.value("SELECT table_comment FROM information_schema.tables WHERE table_schema = '" + b.schema + "' AND table_name = 't'"); got != "its comment" {
				b.Errorf("after %s, the comment is %s", c.what, got)
			}
			// They are used up: row 3 is a new one from now on.
			b.undoing().mustEnd()
			b.exec("INSERT INTO " + table + " (id, a) VALUES (3, 3)")
			b.undoing("--end").mustEnd()
			b.undoing(append([]string{"--cold"}, c.flags...)...).mustEnd()
			if got := b.value("SELECT GROUP_CONCAT(id, ' ', note ORDER BY id) FROM " + table); got != "1 first,2 second,3 d,4 d" {
				b.Errorf("after %s and a second end, the rows are %s", c.what, got)
			}
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// TestU5_ARefusedUndoKeepsItsValuesAfterTheEnd: an undo ends because of a row that does not fit, and is given up. An undo by all rows
// gives that row, which fits by then, the values of the dropped columns.
func TestU5_ARefusedUndoKeepsItsValuesAfterTheEnd(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		table := b.schema + ".t"
		clean := func(old bool) {
			pool, err := b.open(b.ctx())
			if err != nil {
				b.Fatal(err)
			}
			defer pool.Close()
			all := func([]leftovers.Table) bool { return true }
			if _, err := leftovers.Cleanup(b.ctx(), pool, schema.Name{Schema: b.schema, Table: "t"}, old, all, func(string) {}); err != nil {
				b.Error(err)
			}
		}
		for _, flag := range []string{"--lazy", "--cold", "--lazy, and the old table is dropped"} {
			b.exec("CREATE TABLE "+table+" (id INT PRIMARY KEY, a SMALLINT, note VARCHAR(20) NOT NULL DEFAULT 'd')",
				"INSERT INTO "+table+" VALUES (1, 1, 'first'), (2, 2, 'second'), (3, 3, 'third')")
			b.natively("MODIFY a INT, DROP COLUMN note", "--undo=1h", "--method=shadow").mustEnd()
			b.exec("UPDATE " + table + " SET a = 100000 WHERE id = 1")
			mode, _, dropped := strings.Cut(flag, ",")
			if code, last := b.undoing(mode).wait(); code != 17 {
				b.Fatalf("%s: exit code %d: %s", flag, code, last)
			}
			b.undoing("--end").mustEnd()
			if clean(dropped); dropped {
				b.hasTables("t")
				b.exec("DROP TABLE " + table)
				continue
			}
			b.exec("UPDATE " + table + " SET a = 7 WHERE id = 1")
			b.undoing("--cold").mustEnd()
			if got := b.value("SELECT GROUP_CONCAT(id, ' ', note ORDER BY id) FROM " + table); got != "1 first,2 second,3 third" {
				b.Errorf("%s: the rows are %s", flag, got)
			}
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
		}
	})
}

// TestU5_AValuesTableOfOtherColumnsIsLeftAlone: a column was dropped by hand after the redo, so the values of parked rows are not complete.
// The undo by all rows comes to its end without them, its plan names the loss and how they are read, and they stay where they are.
func TestU5_AValuesTableOfOtherColumnsIsLeftAlone(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		table := b.schema + ".t"
		b.exec("CREATE TABLE "+table+" (id INT PRIMARY KEY, a SMALLINT, b INT, note VARCHAR(20) NOT NULL DEFAULT 'd')",
			"INSERT INTO "+table+" VALUES (1, 1, 1, 'first'), (2, 2, 2, 'second')")
		b.natively("MODIFY a INT, DROP COLUMN note", "--undo=1h", "--method=shadow").mustEnd()
		b.exec("UPDATE " + table + " SET a = 100000 WHERE id = 1")
		b.undoing("--park").mustEnd()
		b.undoing().mustEnd()
		b.exec("UPDATE "+table+" SET a = id", "ALTER TABLE "+table+" DROP COLUMN b")
		undo := b.undoing("--cold")
		undo.mustEnd()
		for _, want := range []string{"lose their values of column b, column note", "SELECT * FROM `" + b.schema + "`.`t_parked_values`"} {
			if !undo.heard(want) {
				b.Errorf("the plan does not have %q", want)
			}
		}
		if got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, IFNULL(b, 'null'), note) ORDER BY id) FROM " + table); got != "1 null d,2 2 second" {
			b.Errorf("the rows are %s", got)
		}
		if got := b.value("SELECT CONCAT(id, note) FROM " + table + "_parked_values"); got != "1first" {
			b.Errorf("the values are %s", got)
		}
		b.undoing("--end").mustEnd()
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}
