package migration_test

import (
	"testing"

	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// TestU5_ParkedRowsKeepTheirValuesOverAColdRedo: an undo has parked a row and is given up, or its record is gone. A redo by all rows does
// not know that row. It comes back by hand, and the next undo gives it the values of the dropped columns, also after another end.
func TestU5_ParkedRowsKeepTheirValuesOverAColdRedo(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		table := b.schema + ".t"
		undo := func() *child { return b.undoing("--park", "--map", "=n") }
		park := func() { undo().mustEnd() }
		kill := func() { // before the mark
			if code, last := b.killIf(fault.Rule{At: "next values: t_parked_values"}, undo); code != -1 {
				b.Fatalf("not killed: %d: %s", code, last)
			}
			park() // the same command finishes it
		}
		end := func() { b.undoing("--end").mustEnd() }
		const foreign = ", p INT DEFAULT 1, FOREIGN KEY (p) REFERENCES u (id)"
		for _, c := range []struct {
			what, more string
			park, end  func()
			next       []string
		}{
			{"the end", "", park, end, nil},
			{"the loss of the record", "", park, func() { b.exec("DROP TABLE " + table + "_undo") }, nil},
			{"two ends", foreign, park, end, []string{"--cold"}},
			{"a kill", "", kill, end, nil},
			{"a kill after the foreign keys", foreign, kill, end, nil},
		} {
			if c.more != "" && b.version == "8.0" { // 8.0.12 refuses a shadow of a table with foreign keys
				continue
			}
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
				"CREATE TABLE "+b.schema+".u (id INT PRIMARY KEY)", "INSERT INTO "+b.schema+".u VALUES (1)",
				"CREATE TABLE "+table+" (id INT PRIMARY KEY, a SMALLINT, note VARCHAR(20) NOT NULL DEFAULT 'd'"+c.more+") COMMENT 'its comment'",
				"INSERT INTO "+table+" (id, a, note) VALUES (1, 1, 'first'), (2, 2, 'second')")
			b.natively("MODIFY a INT, DROP COLUMN note, ADD COLUMN n INT", "--undo=1h", "--method=shadow").mustEnd()
			b.exec("UPDATE " + table + " SET a = 100000, n = 1 WHERE id = 1")
			c.park()
			c.end()
			redo := b.undoing("--cold", "--map", "=note")
			redo.mustEnd()
			if redo.heard("rows that were parked") {
				b.Errorf("after %s, the redo names a loss of parked rows", c.what)
			}
			b.exec("INSERT INTO " + table + " (id, a, n) SELECT id, 1, n FROM " + table + "_parked")
			if c.next != nil {
				b.undoing("--end").mustEnd()
			}
			b.undoing(append(c.next, "--map", "=n")...).mustEnd()
			if got := b.value("SELECT GROUP_CONCAT(id, ' ', note ORDER BY id) FROM " + table); got != "1 first,2 second" {
				b.Errorf("after %s, the rows are %s", c.what, got)
			}
			comment := "SELECT table_comment FROM information_schema.tables WHERE table_schema = '" + b.schema + "' AND table_name = 't'"
			if got := b.value(comment); got != "its comment" {
				b.Errorf("after %s, the comment is %s", c.what, got)
			}
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}
