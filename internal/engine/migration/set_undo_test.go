package migration_test

import (
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/lab/mysqltest"
)

// TestL5_AKilledUndoWithExpressionsResumes: kill -9 as an undo of a change with --set writes to the old table and at its swap, next to
// writers, and the same for the redo. Or a process follows the table and is released next to them. No row is lost, and the redo gives
// changed rows the values of the expressions, and leaves the others theirs.
func TestL5_AKilledUndoWithExpressionsResumes(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		const keys, value = 1500, "CONCAT(COALESCE(u, 0), '-', COALESCE(s, 2) * 3)"
		table, sockets := b.schema+".t", "--control-dir="+filepath.Join(b.TempDir(), "sockets")
		for _, warm := range []bool{false, true} {
			b.crossed(keys, "")
			b.exec("ALTER TABLE " + table + " DROP COLUMN w")
			b.natively("ADD COLUMN w INT NOT NULL DEFAULT 0, ADD COLUMN x VARCHAR(40) NOT NULL DEFAULT 'new'", "--set=x="+value, "--undo=1h", "--method=shadow").mustEnd()
			wait := b.crossing(2, keys)
			if warm {
				follower := b.undoing("--hold", sockets)
				follower.await(phaseLine(event.PhaseHold))
				b.releasing(sockets).mustEnd()
				follower.mustEnd()
			} else {
				b.undoKilledAt("INTO `"+b.schema+"`.`t_old`", "--checkpoint=100ms")
				b.undoKilledAt("RENAME TABLE `" + b.schema + "`.`t`")
				b.undoing().mustEnd()
			}
			if writes := wait(); writes < 20 {
				b.Errorf("warm %t: only %d writes", warm, writes)
			}
			const rows = "SELECT id, u, s FROM "
			undone := b.aside("t_undone")
			b.mustHaveRows(rows+b.schema+"."+undone, rows+table)

			b.exec("CREATE TABLE "+b.schema+".was SELECT id, x FROM "+b.schema+"."+undone, "UPDATE "+table+" SET u = id + 100007 WHERE id < 200",
				"DELETE FROM "+table+" WHERE id BETWEEN 200 AND 220", "INSERT INTO "+table+" (id, u, s) VALUES (90001, 5, 1)")
			if !warm {
				b.undoKilledAt("INTO `"+b.schema+"`.`"+undone+"`", "--checkpoint=100ms")
				b.undoKilledAt("RENAME TABLE `" + b.schema + "`.`t`")
			}
			b.undoing().mustEnd()
			b.mustHaveRows(rows+b.schema+"."+b.aside("t_old"), rows+table)
			if n := b.value("SELECT COUNT(*) FROM " + table + " WHERE (id < 200 OR id = 90001) AND x <> " + value); n != "0" {
				b.Errorf("warm %t: %s changed rows do not have the value of the expression", warm, n)
			}
			if n := b.value("SELECT COUNT(*) FROM " + table + " t LEFT JOIN " + b.schema + ".was w ON t.id = w.id WHERE NOT t.x <=> w.x AND t.x <> " + value); n != "0" {
				b.Errorf("warm %t: %s rows have neither the value from before nor that of the expression", warm, n)
			}
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// aside is the table that was put aside with a name that begins so. A kill within the swap of two sessions leaves a table of the first
// name for a while.
func (b *bench) aside(name string) (found string) {
	b.Helper()
	for _, there := range strings.Split(b.tables(), ",") {
		if strings.HasPrefix(there, name) {
			found = there
		}
	}
	return found
}
