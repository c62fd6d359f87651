package migration_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// TestU3_TablesPutAsideKeepTheirNames: a change is taken back and made again several times. Its two tables have two names in
// turn, a name that the operator has wished too, and the record has in turn what a further undo would be.
func TestU3_TablesPutAsideKeepTheirNames(t *testing.T) {
	mysqltest.Seldom(t)
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
	mysqltest.Seldom(t)
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

// TestU3_AFailedChangeEndsNoUndo: a change by the server, or a TRUNCATE, is to end the undo of the change before, and is to
// have one itself. It does not get its lock, or is killed before its statement. The change before can still be undone.
func TestU3_AFailedChangeEndsNoUndo(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onThese(t, inTurn(t, versions), func(b *bench) {
		b.numbered(50)
		before := b.definition()
		index := func() *child {
			return b.natively("ADD INDEX by_v (v)", "--undo=1h", "--end-undo", "--lock-give-up=2s", "--method=inplace")
		}
		truncate := func() *child {
			return b.process("", nil, "run", "TRUNCATE TABLE "+b.schema+".t", "--undo=1h", "--lock-give-up=2s")
		}
		at := map[string]string{"index": "ALTER TABLE `" + b.schema + "`.`t` ", "truncate": "RENAME TABLE "}
		for name, start := range map[string]func() *child{"index": index, "truncate": truncate} {
			for _, killed := range []bool{false, true} {
				b.natively("DROP COLUMN u", "--undo=1s", "--method=shadow").mustEnd()
				if name == "truncate" {
					time.Sleep(time.Second) // its undo is no longer open, and still possible
				}
				holder := b.conn()
				if !killed {
					for _, s := range []string{"BEGIN", "SELECT COUNT(*) FROM " + b.schema + ".t"} {
						if _, err := holder.ExecContext(b.ctx(), s); err != nil {
							b.Fatal(err)
						}
					}
					if code, last := start().wait(); code == 0 {
						b.Fatalf("%s: exit code %d: %s", name, code, last)
					}
					if _, err := holder.ExecContext(b.ctx(), "COMMIT"); err != nil {
						b.Fatal(err)
					}
				} else if code, last := b.killIf(fault.Rule{At: at[name]}, start); code != -1 {
					b.Fatalf("%s: not killed: exit code %d: %s", name, code, last)
				}
				if u := b.undoable(); !killed && (u.Alter != "DROP COLUMN u" || u.Old.Table != "t_old") {
					b.Errorf("%s: the change that can be undone is %+v", name, u)
				}
				b.undoing().mustEnd()
				b.mustBeDefined("undo after "+name, before)
				if rows := b.value("SELECT CONCAT(COUNT(*), ' ', SUM(u)) FROM " + b.schema + ".t"); rows != "50 1275" {
					b.Errorf("%s: rows are %s", name, rows)
				}
				b.undoing("--end").mustEnd()
				b.exec("DROP TABLE " + b.schema + ".t_undone")
			}
		}
	})
}

// notByKeys are statements of another session, of which the keys in the binlog do not show what has become of the rows.
func notByKeys() map[string][]string {
	return map[string][]string{
		"TRUNCATE":       {"TRUNCATE TABLE %s.t", "INSERT INTO %s.t (id, v) VALUES (3, 33), (7, 77)"},
		"STATEMENT":      {"SET SESSION binlog_format = STATEMENT", "UPDATE %s.t SET v = 44 WHERE id = 3"},
		"there and back": {"ALTER TABLE %s.t ADD COLUMN more INT", "UPDATE %s.t SET v = 55", "ALTER TABLE %s.t DROP COLUMN more"},
		"altered":        {"ALTER TABLE %s.t MODIFY v BIGINT NOT NULL", "UPDATE %s.t SET v = 66 WHERE id = 9"},
		"moved":          {"ALTER TABLE %s.t MODIFY v INT NOT NULL FIRST", "DELETE FROM %s.t WHERE id = 9"},
	}
}

// TestU3_AnUndoThatCannotBeLazyIsCold: since the swap another session has done what the keys in the binlog do not show. If the
// definition shows it, the undo is revoked; otherwise the binlog does. In both cases the undo goes on by all rows without being
// asked, except with --lazy.
func TestU3_AnUndoThatCannotBeLazyIsCold(t *testing.T) {
	mysqltest.Seldom(t)
	for _, v := range inTurn(t, versions) { // a statement in STATEMENT format ends other runs
		t.Run(v, func(t *testing.T) {
			b := setup(t, v)
			for name, statements := range notByKeys() {
				b.numbered(50)
				b.natively("DROP COLUMN u", "--undo=1h", "--method=shadow").mustEnd()
				conn := b.conn()
				for _, s := range statements {
					if _, err := conn.ExecContext(b.ctx(), strings.ReplaceAll(s, "%s", b.schema)); err != nil {
						b.Fatalf("%s: %v", s, err)
					}
				}
				const rows = "SELECT GROUP_CONCAT(CONCAT_WS(' ', id, v) ORDER BY id) FROM "
				want := b.value(rows + b.schema + ".t")
				known := name == "altered" || name == "moved"
				if state := b.undoable().State; (state == leftovers.UndoRevoked) != known {
					b.Errorf("%s: the undo is %s", name, state)
				}
				if code, last := b.undoing("--lazy").wait(); code == 0 || !strings.Contains(last, "--cold") {
					b.Errorf("%s: a lazy undo: exit code %d: %s", name, code, last)
				}
				b.undoing().mustEnd()
				if got := b.value(rows + b.schema + ".t"); got != want {
					b.Errorf("%s: the rows are %s, want %s", name, got, want)
				}
				if n := b.value("SELECT COUNT(*) FROM " + b.schema + ".t WHERE u = id"); n != b.value("SELECT COUNT(*) FROM "+b.schema+".t_undone") {
					b.Errorf("%s: %s rows have their former values", name, n)
				}
				b.undoing("--end").mustEnd()
				b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE "+b.schema+".t_undone", "DROP TABLE "+b.schema+".digits")
			}
		})
	}
}

// TestU3_AnUndoThatReconnectsBecomesCold: an undo follows the table and loses the server. Before it is back, another
// session truncates the table. The undo begins again by all rows, although it has resumed its own work.
func TestU3_AnUndoThatReconnectsBecomesCold(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.changed("ADD COLUMN added INT")
		wire := b.wire(fault.Rule{Nth: 1 << 30})
		sockets := "--control-dir=" + filepath.Join(b.TempDir(), "sockets")
		follower := b.undoing("--hold", "--reconnect=1m", sockets)
		follower.await(phaseLine(event.PhaseHold))
		wire.LeadTo("127.0.0.1:1")
		follower.await("going on in")
		b.exec("TRUNCATE TABLE "+b.schema+".t", "INSERT INTO "+b.schema+".t (id, v) VALUES (3, 33), (7, 77)")
		wire.LeadTo(b.server.Address)
		follower.await("by all rows")
		b.releasing(sockets).mustEnd()
		follower.mustEnd()
		if got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, v) ORDER BY id) FROM " + b.schema + ".t"); got != "3 33,7 77" {
			b.Errorf("the rows are %s", got)
		}
	})
}
