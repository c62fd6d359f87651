package migration_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/park"
	"midstream/internal/engine/planning"
)

// TestU4_FilledRowsHaveTheValuesOfTheLastUndo: an undo fills new rows and fails, or is stopped. The next one has another
// expression, and some of the rows have changed. Each new row has the value of the last expression, over its last values.
func TestU4_FilledRowsHaveTheValuesOfTheLastUndo(t *testing.T) {
	onTwo(t, func(b *bench) {
		for _, cold := range []bool{false, true} {
			b.exec("DROP TABLE IF EXISTS "+b.schema+".t_undo, "+b.schema+".t, "+b.schema+".t_undone",
				"CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, v TINYINT, note VARCHAR(20) NOT NULL)", "INSERT INTO "+b.schema+".t VALUES (1, 1, 'one')")
			b.cfg.Undo = time.Hour
			b.mustMigrate("DROP COLUMN note, MODIFY v INT")
			b.exec("INSERT INTO " + b.schema + ".t VALUES (3, 3), (4, 4), (5, 500)")
			first := planning.Undo{Cold: cold, Fills: map[string]string{"note": "CONCAT('first ', v)"}}
			if _, err := b.undo(b.ctx(), first); !errors.Is(err, park.ErrUnfit) && !errors.Is(err, failure.ErrUnfit) {
				b.Fatalf("with a row that does not fit: %v", err)
			}
			b.exec("UPDATE "+b.schema+".t SET v = 5 WHERE id = 5", "UPDATE "+b.schema+".t SET v = 44 WHERE id = 4")
			ctx, cancel := context.WithCancel(b.ctx())
			second := planning.Undo{Cold: cold, Fills: map[string]string{"note": "CONCAT('second ', v)"}}
			if _, err := b.undo(ctx, second, onPhase(event.PhaseVerify, cancel)); err == nil {
				b.Fatal("an undo that was stopped has swapped")
			}
			b.exec("UPDATE " + b.schema + ".t SET v = 55 WHERE id = 5")
			b.mustUndo(planning.Undo{Cold: cold, Fills: map[string]string{"note": "CONCAT('third ', v)"}})
			const rows = "SELECT GROUP_CONCAT(CONCAT_WS(' ', id, v, note) ORDER BY id) FROM "
			if got := b.value(rows + b.schema + ".t"); got != "1 1 one,3 3 third 3,4 44 third 44,5 55 third 55" {
				b.Errorf("cold %t: rows are %s", cold, got)
			}
		}
		b.exec("DROP TABLE " + b.schema + ".t_undo")
	})
}
