package migration_test

import (
	"strings"
	"testing"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
)

// TestU3_TheLogOfTriggersHasAKeyThatAnUndoFollows: a change alters its primary key, so that an undo, or a redo, finds the rows by another
// unique key only. The list has "open", and both are made; the redo goes by all rows, and gives the reason.
func TestU3_TheLogOfTriggersHasAKeyThatAnUndoFollows(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.capture = plan.CaptureTrigger
		table := b.schema + ".t"
		for _, c := range []struct{ before, after string }{{"INT", "VARCHAR(20)"}, {"VARCHAR(20)", "INT"}} {
			b.exec("CREATE TABLE "+table+" (k "+c.before+" NOT NULL PRIMARY KEY, rid BIGINT NOT NULL, d INT, UNIQUE KEY ur (rid))",
				"INSERT INTO "+table+" VALUES (1, 1, 11), (2, 2, 12), (3, 3, 13)")
			b.natively("DROP COLUMN d, MODIFY k "+c.after+" NOT NULL", "--undo=1h", "--method=shadow").mustEnd()
			b.exec("UPDATE "+table+" SET k = 7 WHERE rid = 1", "DELETE FROM "+table+" WHERE rid = 2", "INSERT INTO "+table+" VALUES (4, 4)")
			for _, want := range []string{"7 1 11,3 3 13,4 4 x", "7 1,3 3,4 4"} {
				if u := b.undoable(); u.State != leftovers.UndoOpen {
					b.Errorf("%s: the undo is %s: %s", c.before, u.State, u.Why)
				}
				b.undoing().mustEnd()
				columns := "k, ' ', rid"
				if strings.Contains(want, "x") {
					columns += ", ' ', IFNULL(d, 'x')"
				}
				if got := b.value("SELECT GROUP_CONCAT(" + columns + " ORDER BY rid) FROM " + table); got != want {
					b.Errorf("%s: the rows are %s, want %s", c.before, got, want)
				}
			}
			b.undoing("--end").mustEnd()
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
		}
	})
}
