package migration_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/park"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/mysqltest"
)

// TestU4_FormerValuesComeBackByALaterUndo: the change has rounded values, and a first undo has not come to its swap: rows did
// not fit, it was killed, or it has followed the table and was ended. The next one brings the former values back all the
// same, and parks a row that the first one had found.
func TestU4_FormerValuesComeBackByALaterUndo(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		t := b.schema + ".t"
		rows := func(table string) string {
			return b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, d, u) ORDER BY id SEPARATOR ', ') FROM " + b.schema + "." + table)
		}
		b.cfg.Undo = time.Hour
		for name, first := range map[string]func(){
			"unfit": func() {
				if _, err := b.undo(b.ctx(), planning.Undo{}); !errors.Is(err, park.ErrUnfit) {
					b.Fatalf("the error is %v", err)
				}
			},
			"killed": func() {
				b.undoKilledAt("RENAME TABLE `"+b.schema+"`.`t`", "--park")
				b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_parked") // the next one has one of its own
			},
			"followed": func() {
				b.settings.When.Hold = true
				defer func() { b.settings.When.Hold = false }()
				ctx, end := context.WithCancel(b.ctx())
				_, err := b.undo(ctx, planning.Undo{}, func(e event.Event) {
					if entered(event.PhaseHold)(e) {
						time.AfterFunc(500*time.Millisecond, end)
					}
				})
				if err == nil {
					b.Fatal("it was not ended")
				}
			},
		} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
				"CREATE TABLE "+t+" (id INT PRIMARY KEY, d DECIMAL(10,4) NOT NULL, u INT NOT NULL, UNIQUE (u))",
				"INSERT INTO "+t+" VALUES (1, 1.2345, 1), (2, 2.3456, 2), (3, 3.4567, 3)")
			b.mustMigrate("MODIFY d DECIMAL(10,2) NOT NULL, DROP INDEX u")
			b.exec("UPDATE "+t+" SET d = 9.87 WHERE id = 2", "INSERT INTO "+t+" VALUES (4, 4.44, 1)")
			first()
			b.mustUndo(planning.Undo{Park: true})
			if got, want := rows("t"), "1 1.2345 1, 2 9.8700 2, 3 3.4567 3"; got != want {
				b.Errorf("%s: the rows are %s, want %s", name, got, want)
			}
			if got, want := rows("t_parked"), "4 4.44 1"; got != want {
				b.Errorf("%s: the parked rows are %s, want %s", name, got, want)
			}
			// The redo has the parked row, though it is killed once.
			b.exec("UPDATE " + t + " SET u = 33 WHERE id = 3")
			b.undoKilledAt("RENAME TABLE `" + b.schema + "`.`t`")
			b.mustUndo(planning.Undo{})
			if got, want := rows("t"), "1 1.23 1, 2 9.87 2, 3 3.46 33, 4 4.44 1"; got != want {
				b.Errorf("%s: after the redo the rows are %s, want %s", name, got, want)
			}
		}
		b.exec("DROP TABLE "+b.schema+".t_undo", "DROP TABLE "+b.schema+".t_parked")
	})
}

// TestU4_AGeneratedColumnHasItsPresentValues: the change has the server compute a column. The undo makes it a plain one again,
// with the values that rows have now; rows that have not changed keep the former ones.
func TestU4_AGeneratedColumnHasItsPresentValues(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.cfg.Undo = time.Hour
		for _, change := range []string{"MODIFY g INT AS (v + 1) STORED", "CHANGE g h INT AS (v + 1) STORED"} {
			for _, cold := range []bool{false, true} {
				t := b.schema + ".t"
				b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
					"CREATE TABLE "+t+" (id INT PRIMARY KEY, v INT NOT NULL, g INT, s INT)",
					"INSERT INTO "+t+" VALUES (1, 1, 2, 7), (2, 2, 300, 8), (3, 3, 4, 9)")
				b.mustMigrate(change + ", DROP COLUMN s")
				b.exec("UPDATE "+t+" SET v = 10 WHERE id = 1", "INSERT INTO "+t+" (id, v) VALUES (4, 40)", "UPDATE "+t+" SET id = 5 WHERE id = 3")
				want := "1 10 11 7, 2 2 300 8, 4 40 41, 5 3 4 9"
				if cold {
					want = "1 10 11 7, 2 2 3 8, 4 40 41, 5 3 4 9"
				}
				for range 2 {
					b.mustUndo(planning.Undo{Cold: cold})
					got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, v, g, s) ORDER BY id SEPARATOR ', ') FROM " + t)
					if got != want {
						b.Errorf("%s, cold %t: the rows are %s, want %s", change, cold, got, want)
					}
					b.mustUndo(planning.Undo{Cold: cold}) // the redo
				}
				b.exec("DROP TABLE " + b.schema + ".t_undo")
			}
		}
	})
}
