package migration_test

import (
	"testing"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/planning"
	"midstream/internal/mysql/schema"
)

// TestU3_TablesPutAsideKeepTheirNames: a change is taken back and made again several times. Its two tables have two names in
// turn, a name that the operator has wished too, and the record has in turn what a further undo would be.
func TestU3_TablesPutAsideKeepTheirNames(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		for _, wished := range []string{"", "t_wished"} {
			b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, note VARCHAR(9))", "INSERT INTO "+b.schema+".t VALUES (1, 'n')")
			b.cfg.Undo, b.wish.Old = time.Hour, wished
			b.mustMigrate("DROP COLUMN note")
			former := "t_old"
			if wished != "" {
				former = wished
			}
			for round := range 6 {
				b.mustUndo(planning.Undo{Cold: round == 3})
				want := "t,t_undo,t_undone"
				if round%2 == 1 {
					want = "t,t_old,t_undo"
					if wished != "" {
						want = "t,t_undo,t_wished"
					}
				}
				if got := b.tables(); got != want {
					b.Fatalf("after undo %d of %s, the tables are %s, want %s", round+1, former, got, want)
				}
				if u := b.undoable(); u.Record.Back != (round%2 == 0) {
					b.Errorf("after undo %d, the next one is a redo: %v", round+1, u.Record.Back)
				}
			}
			b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE "+b.schema+"."+former, "DROP TABLE "+b.schema+".t_undo")
		}
	})
}

// TestL8_EndOfUndoDropsWhatItsChangeWished: with --drop-old, the end of the undo drops the table that was put aside last, by
// the change, by its undo, or by the redo.
func TestL8_EndOfUndoDropsWhatItsChangeWished(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		for undos := range 3 {
			for _, drops := range []bool{true, false} {
				b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, note VARCHAR(9))", "INSERT INTO "+b.schema+".t VALUES (1, 'n')")
				b.cfg.Undo, b.cfg.DropOld = time.Hour, drops
				b.mustMigrate("DROP COLUMN note")
				b.cfg.Undo, b.cfg.DropOld = 0, false
				for range undos {
					b.mustUndo(planning.Undo{})
				}
				pool, err := b.open(b.ctx())
				if err != nil {
					b.Fatal(err)
				}
				ended, err := leftovers.EndUndo(b.ctx(), pool, schema.Name{Schema: b.schema, Table: "t"}, false)
				pool.Close()
				if err != nil {
					b.Fatal(err)
				}
				if gone := ended.Old.Table == ""; gone != drops {
					b.Errorf("after %d undos of a change with --drop-old=%v, the old table is %s", undos, drops, ended.Old)
				}
				if !drops {
					b.exec("DROP TABLE " + ended.Old.Quoted())
				}
				if got := b.tables(); got != "t" {
					b.Errorf("after %d undos, the tables are %s", undos, got)
				}
				b.exec("DROP TABLE " + b.schema + ".t")
			}
		}
	})
}
