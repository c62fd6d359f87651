package migration_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// TestL7_AnUndoWaitsForTheClaimOfAKilledOne: an undo was killed behind its swap, and the server still holds its claim. The same command
// waits for it a moment, and completes the undo. If another session holds the claim, the command is refused for that reason alone: the
// record of the undo is not to be given up.
func TestL7_AnUndoWaitsForTheClaimOfAKilledOne(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.cfg.Undo = time.Hour
		b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, v INT) COMMENT 'orders'", "INSERT INTO "+b.schema+".t VALUES (1, 1), (2, 2)")
		b.mustMigrate("ADD COLUMN added INT")
		at := "INSERT INTO `" + b.schema + "`.`t_midstream` (id, beat, run, state) VALUES (4"
		b.undoKilledAt(at)
		claim := b.conn()
		name := schema.Literal(plan.LockName(schema.Name{Schema: b.schema, Table: "t"}))
		var got int
		if err := claim.QueryRowContext(b.ctx(), fmt.Sprintf("SELECT GET_LOCK(%s, 10)", name)).Scan(&got); err != nil || got != 1 {
			b.Fatal(got, err)
		}
		code, last := b.undoing().wait()
		if code != 20 || !strings.Contains(last, "another run of midstream is working on this table") || strings.Contains(last, "--end") {
			b.Errorf("next to the claim, the undo ends with %d: %s", code, last)
		}
		undo := b.undoing()
		waiting := fmt.Sprintf("SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_info LIKE %s AND processlist_id <> CONNECTION_ID()",
			schema.Literal("SELECT GET_LOCK("+strings.ReplaceAll(name, "_", `\_`)+"%"))
		for b.value(waiting) == "0" {
			time.Sleep(10 * time.Millisecond)
		}
		if _, err := claim.ExecContext(b.ctx(), fmt.Sprintf("DO RELEASE_LOCK(%s)", name)); err != nil {
			b.Fatal(err)
		}
		undo.mustEnd()
		b.mustBeUndoable("the undo", "")
		b.undoing("--end").mustEnd()
	})
}
