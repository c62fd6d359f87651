package migration_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/schema"
)

// changed makes table t with 2000 rows, changes it with --undo, and then some of its rows.
func (b *bench) changed(clauses string) {
	b.Helper()
	b.numbered(2000)
	b.cfg.Undo = time.Hour
	b.Cleanup(func() { b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_undo") })
	b.mustMigrate(clauses)
	b.exec("UPDATE "+b.schema+".t SET v = v + 1 WHERE id % 7 = 0", "DELETE FROM "+b.schema+".t WHERE id % 11 = 0",
		"INSERT INTO "+b.schema+".t (id, v, u) VALUES (5000, 1, 5000), (5001, 2, NULL)")
}

// undoable is what can be undone of table t.
func (b *bench) undoable() leftovers.Undoable {
	b.Helper()
	pool, err := b.open(b.ctx())
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	all, err := leftovers.Undoables(b.ctx(), pool, &schema.Name{Schema: b.schema, Table: "t"})
	if err != nil || len(all) != 1 {
		b.Fatalf("undoable are %v, %v", all, err)
	}
	return all[0]
}

// mustMatch fails the test unless a table has these rows.
func (b *bench) mustMatch(table, want string) {
	b.Helper()
	if got := b.sums(table); got != want {
		b.Errorf("rows and checksum of %s are %s, want %s", table, got, want)
	}
}

// mustNotHaveUndone fails the test unless a failed undo has left everything as it was.
func (b *bench) mustNotHaveUndone(rows string) {
	b.Helper()
	b.mustBeBefore(rows, leftovers.UndoOpen)
}

// mustBeBefore fails the test unless no undo has changed the table, and its undo has a state.
func (b *bench) mustBeBefore(rows string, state leftovers.UndoState) {
	b.Helper()
	b.mustMatch("t", rows)
	if got := b.tables(); got != "digits,t,t_old,t_undo" {
		b.Errorf("the tables are %s", got)
	}
	if got := b.comment("t_old"); !strings.HasPrefix(got, "midstream old of ") {
		b.Errorf("the comment of the old table is %q", got)
	}
	if u := b.undoable(); u.State != state {
		b.Errorf("the undo is %s: %s", u.State, u.Why)
	}
}

// TestU2_OnlyTheUndoWritesTheOldTable: another session has written to the old table, has replaced it, or has done
// to the table what the binlog shows without rows. A lazy undo ends before its lock, and names --cold; that works.
func TestU2_OnlyTheUndoWritesTheOldTable(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, c := range []struct {
		name     string
		harmless bool // no row and no column that the undo reads has changed
		does     []string
	}{
		{"update", false, []string{"UPDATE %s.t_old SET v = 7 WHERE id = 3"}},
		{"delete", false, []string{"DELETE FROM %s.t_old WHERE id = 9"}},
		{"truncate", false, []string{"TRUNCATE TABLE %s.t_old"}},
		{"renamed and back", false, []string{"RENAME TABLE %s.t_old TO %s.z", "DELETE FROM %s.z WHERE id < 50", "RENAME TABLE %s.z TO %s.t_old"}},
		{"replaced", false, []string{"CREATE TABLE %s.z LIKE %s.t_old", "DROP TABLE %s.t_old", "ALTER TABLE %s.z RENAME TO %s.t_old"}},
		{"created again", false, []string{"CREATE TABLE %s.z LIKE %s.t_old", "DROP TABLE %s.t_old", "CREATE TABLE %s.t_old LIKE %s.z", "DROP TABLE %s.z"}},
		{"table truncated", false, []string{"TRUNCATE TABLE %s.t"}},
		{"table elsewhere", false, []string{"RENAME TABLE %s.t TO %s.z", "UPDATE %s.z SET v = 99 WHERE id < 50", "RENAME TABLE %s.z TO %s.t"}},
		{"table altered", false, []string{"ALTER TABLE %s.t ADD COLUMN more INT, MODIFY v BIGINT NOT NULL"}},
		{"table with a column", true, []string{"ALTER TABLE %s.t ADD COLUMN more INT"}},
		{"column moved", false, []string{"ALTER TABLE %s.t MODIFY v INT NOT NULL FIRST"}},
		{"table with an index", true, []string{"ALTER TABLE %s.t ADD INDEX byv (v)"}},
		{"table has a trigger", true, []string{"CREATE TRIGGER %s.x BEFORE INSERT ON %s.t FOR EACH ROW SET NEW.v = NEW.v"}},
		{"referred to", true, []string{
			"CREATE TABLE %s.c (id INT PRIMARY KEY, x INT, FOREIGN KEY (x) REFERENCES %s.t (id))", "ALTER TABLE %s.c DROP COLUMN id, ADD FOREIGN KEY (x) REFERENCES %s.t (id)",
			"DROP TABLE %s.c",
		}},
		{"old table referred to", false, []string{"CREATE TABLE %s.c (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES %s.t_old (id))", "DROP TABLE %s.c"}},
		{"old table has a mark", true, []string{"ALTER TABLE %s.t_old COMMENT = 'midstream old of %s.t; it was: mine'"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onTwo(t, func(b *bench) { b.undoAfter(c.harmless, c.does...) })
		})
	}
}

// TestU2_StatementsOfTheOldTable: another session deletes rows of the old table in STATEMENT format. Such a statement ends other
// runs on the server, so no test runs next to this one.
func TestU2_StatementsOfTheOldTable(t *testing.T) {
	for _, v := range inTurn(t, all) {
		t.Run(v, func(t *testing.T) {
			setup(t, v).undoAfter(false, "SET SESSION binlog_format = STATEMENT", "DELETE FROM %s.t_old WHERE id < 50")
		})
	}
}

// undoAfter changes the table, has another session give statements, and begins a lazy undo. It fails the test unless
// that comes to its end if the statements are harmless, and otherwise ends before its lock and names --cold; the next one is cold.
func (b *bench) undoAfter(harmless bool, statements ...string) {
	b.Helper()
	b.changed("ADD COLUMN added INT")
	other := b.conn()
	for _, s := range statements {
		if _, err := other.ExecContext(b.ctx(), strings.ReplaceAll(s, "%s", b.schema)); err != nil {
			b.Fatalf("%s: %v", s, err)
		}
	}
	rows, revoked := b.sums("t"), b.undoable().State == leftovers.UndoRevoked
	_, err := b.undo(b.ctx(), planning.Undo{})
	if (harmless || revoked) != (err == nil) { // a revoked one is cold by itself
		b.Errorf("a lazy undo has come to its end: %t, with %v", err == nil, err)
	}
	if err == nil {
		b.mustMatch("t", rows)
		return
	}
	var failed *failure.Failure
	if !errors.As(err, &failed) || !strings.Contains(failed.Next, "--cold") || failed.Swapped {
		b.Errorf("the error is %v", err)
	}
	b.mustBeBefore(rows, leftovers.UndoRevoked) // the next one would find rows of this one in the old table
	if _, err := b.undo(b.ctx(), planning.Undo{Lazy: true}); err == nil {
		b.Errorf("the same undo comes to its end the second time")
	}
	b.mustUndo(planning.Undo{})
	b.mustMatch("t", rows)
}

// TestU4_FailedUndoLeavesTheTable: a row does not fit the old table, or two have one value, or the undo is given
// up. Nothing has happened, and the undo is possible as soon as the cause is gone.
func TestU4_FailedUndoLeavesTheTable(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for name, c := range map[string]struct{ change, spoil, repair string }{
		"value":     {"MODIFY v BIGINT NOT NULL", "UPDATE %s.t SET v = 5000000000 WHERE id = 7", "UPDATE %s.t SET v = 5 WHERE id = 7"},
		"null":      {"MODIFY v INT NULL", "UPDATE %s.t SET v = NULL WHERE id = 7", "UPDATE %s.t SET v = 5 WHERE id = 7"},
		"duplicate": {"DROP INDEX u", "UPDATE %s.t SET u = 1 WHERE id IN (2, 3)", "UPDATE %s.t SET u = NULL WHERE id IN (2, 3)"},
		"key": {"MODIFY id BIGINT NOT NULL", "INSERT INTO %s.t (id, v) VALUES (5000000000, 1)",
			"DELETE FROM %s.t WHERE id = 5000000000"},
		"given up": {"ADD COLUMN added INT", "DO 0", "DO 0"},
	} {
		t.Run(name, func(t *testing.T) {
			onTwo(t, func(b *bench) {
				for _, cold := range []bool{false, true} {
					b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
					b.changed(c.change)
					b.exec(strings.ReplaceAll(c.spoil, "%s", b.schema))
					rows := b.sums("t")
					ctx, cancel := context.WithCancelCause(b.ctx())
					listener := onPhase(event.PhaseCatchUp, func() {
						if name == "given up" {
							cancel(errors.New("given up by the test"))
						}
					})
					_, err := b.undo(ctx, planning.Undo{Cold: cold}, listener)
					var failed *failure.Failure
					if !errors.As(err, &failed) || failed.Swapped || failed.Kept {
						b.Errorf("cold %v: the error is %v", cold, err)
					}
					b.mustNotHaveUndone(rows)
					b.exec(strings.ReplaceAll(c.repair, "%s", b.schema))
					rows = b.sums("t")
					b.mustUndo(planning.Undo{Cold: cold})
					b.mustMatch("t", rows)
				}
			})
		})
	}
}

// TestL8_NoRunTakesAnUndoForItsOwn: a killed undo is not resumed by a run of the same ALTER, and its old table is not
// dropped, whatever is given then.
func TestL8_NoRunTakesAnUndoForItsOwn(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.changed("ADD COLUMN added INT")
		rows := b.sums("t")
		kill := func() {
			b.Helper()
			b.undoKilledAt("RENAME TABLE `" + b.schema + "`.`t`")
		}
		kill()
		for _, clauses := range []string{"DROP COLUMN added", "ADD COLUMN another INT"} {
			if code, last := b.child(clauses, "", nil, "--drop-old").wait(); code != 11 {
				b.Errorf("%s: exit code %d: %s", clauses, code, last)
			}
		}
		b.afterCleanup()
		b.mustNotHaveUndone(rows)
		kill()
		b.undoing().mustEnd()
		b.mustMatch("t", rows)
	})
}

// afterCleanup runs midstream cleanup on table t.
func (b *bench) afterCleanup() {
	b.Helper()
	pool, err := b.open(b.ctx())
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	clean := func() error {
		_, err := leftovers.Cleanup(b.ctx(), pool, schema.Name{Schema: b.schema, Table: "t"}, true, func([]leftovers.Table) bool { return true }, func(string) {})
		return err
	}
	err = clean()
	for since := time.Now(); errors.Is(err, leftovers.ErrClaimed) && time.Since(since) < time.Minute; err = clean() {
		time.Sleep(20 * time.Millisecond) // until the server has noticed that a run was killed
	}
	if err != nil {
		b.Error(err)
	}
}

// TestL8_CleanupKeepsTheUndo: a change, or an undo, was killed after its swap. Cleanup finishes its work, and keeps what
// the undo, or the redo, needs.
func TestL8_CleanupKeepsTheUndo(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.numbered(500)
		b.exec("ALTER TABLE " + b.schema + ".t COMMENT 'orders'")
		for _, s := range stages(false) {
			if code, last := b.killIf(fault.Rule{At: "midstream old of "}, func() *child { return s.start(b) }); code != -1 {
				b.Fatalf("exit code %d: %s", code, last)
			}
			rows := b.sums("t")
			b.afterCleanup()
			b.mustMatch("t", rows)
			b.mustBeUndoable(s.name, "digits,")
		}
		b.undoing("--end").mustEnd()
	})
}

// TestL8_EndOfUndoSparesAStrangersTable: the old table is gone, and another session has created one with its name. The end
// of the undo does not drop that, and no undo writes to it.
func TestL8_EndOfUndoSparesAStrangersTable(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.cfg.DropOld = true
		b.changed("ADD COLUMN added INT")
		if got := b.tables(); got != "digits,t,t_old,t_undo" {
			b.Errorf("--drop-old does not wait for the end of the undo: the tables are %s", got)
		}
		b.exec("DROP TABLE "+b.schema+".t_old", "CREATE TABLE "+b.schema+".t_old (id INT PRIMARY KEY, v INT NOT NULL, u INT UNIQUE)",
			"INSERT INTO "+b.schema+".t_old VALUES (1, 1, 1)")
		rows := b.sums("t_old")
		for _, cold := range []bool{false, true} {
			if _, err := b.undo(b.ctx(), planning.Undo{Cold: cold}); err == nil {
				b.Error("the undo took a stranger's table")
			}
		}
		if u := b.undoable(); u.State != leftovers.UndoEnded {
			b.Errorf("the undo is %s: %s", u.State, u.Why)
		}
		b.undoing("--end").mustEnd()
		b.mustMatch("t_old", rows)
		if got := b.tables(); got != "digits,t,t_old" {
			b.Errorf("the tables are %s", got)
		}
	})
}

// TestU3_UndoEndsWithTheOldTable: --drop-old drops the old table with the end of the undo.
func TestU3_UndoEndsWithTheOldTable(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, all), func(b *bench) {
		b.cfg.DropOld = true
		b.changed("ADD COLUMN added INT")
		b.afterCleanup()
		if got := b.tables(); got != "digits,t,t_old,t_undo" {
			b.Errorf("the tables are %s", got)
		}
		b.undoing("--end").mustEnd()
		if got := b.tables(); got != "digits,t" {
			b.Errorf("the tables are %s", got)
		}
	})
}

// TestU3_UndoOfALostPosition: the binlogs since the swap were purged, or reset. The list shows it, and the undo looks at
// all rows.
func TestU3_UndoOfALostPosition(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, version := range inTurn(t, all) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := on(t, version, mysqltest.Own(t, version, sandbox.Options{}))
			for _, lose := range []string{
				"FLUSH BINARY LOGS; DO SLEEP(1); PURGE BINARY LOGS BEFORE NOW()", "RESET " + b.resetWord(),
				// The first binlog has its name again, and soon its length.
				"RESET " + b.resetWord() + "; CREATE TABLE long_one (s LONGTEXT); INSERT INTO long_one VALUES (REPEAT('x', 4000000))",
			} {
				b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
				b.changed("ADD COLUMN added INT")
				b.exec(strings.Split(strings.ReplaceAll(lose, "long_one", b.schema+".long_one"), "; ")...)
				rows := b.sums("t")
				if u := b.undoable(); u.State != leftovers.UndoRevoked {
					b.Errorf("%s: the undo is %s: %s", lose, u.State, u.Why)
				}
				// A follower does not begin by all rows by itself.
				if _, err := b.undo(b.ctx(), planning.Undo{Lazy: true}); !errors.Is(err, plan.ErrRefused) || !strings.Contains(err.Error(), "revoked") {
					b.Errorf("%s: an undo that is to be lazy ends with %v", lose, err)
				}
				c := b.undoing()
				c.mustEnd()
				b.mustMatch("t", rows)
			}
		})
	}
}

// TestU3_UndoAfterARestart: the server was started again since the swap, and may have lost changes of its binlog
// (sync_binlog=0). All rows are compared, and what differs is synced.
func TestU3_UndoAfterARestart(t *testing.T) {
	t.Parallel()
	for _, version := range inTurn(t, all) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Own(t, version, sandbox.Options{Settings: map[string]string{"sync_binlog": "0"}})
			b := on(t, version, server)
			b.changed("ADD COLUMN added INT")
			other := b.conn()
			for _, s := range []string{"SET SESSION sql_log_bin = 0", "UPDATE " + b.schema + ".t SET v = 77 WHERE id = 3"} { // as lost
				if _, err := other.ExecContext(b.ctx(), s); err != nil {
					b.Fatal(err)
				}
			}
			rows := b.sums("t")
			b.exec("UPDATE " + b.schema + ".t_undo SET state = JSON_SET(state, '$.ServerStart', 5) WHERE id = 2")
			b.mustUndo(planning.Undo{})
			b.mustMatch("t", rows)
		})
	}
}

// TestU1_AnotherRunInTheWindow: a rehearsal has had a state table of the same name since the swap, with heartbeats.
func TestU1_AnotherRunInTheWindow(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.changed("ADD COLUMN added INT")
		b.child("ADD COLUMN more INT", "", nil, "--rehearse").mustEnd()
		b.exec("UPDATE " + b.schema + ".t SET v = v + 1 WHERE id % 5 = 0")
		rows := b.sums("t")
		b.undoing().mustEnd()
		b.mustMatch("t", rows)
	})
}

// TestL9_AnUndoWhoseChangeIsTakenMeanwhile: another session ends the undo, or makes it, after it was planned. The undo does not
// report that it is still open.
func TestL9_AnUndoWhoseChangeIsTakenMeanwhile(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, []string{"9.7", "mariadb-10.11"}), func(b *bench) {
		pool, err := b.open(b.ctx())
		if err != nil {
			b.Fatal(err)
		}
		defer pool.Close()
		table := schema.Name{Schema: b.schema, Table: "t"}
		b.cfg.Undo = time.Hour
		for name, meanwhile := range map[string]func() error{
			"ended": func() error { _, err := leftovers.EndUndo(b.ctx(), pool, table, true); return err },
			"made":  func() error { _, err := b.undo(b.ctx(), planning.Undo{}); return err },
		} {
			b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY)", "INSERT INTO "+b.schema+".t VALUES (1)")
			b.mustMigrate("ADD COLUMN added INT")
			_, err := b.undo(b.ctx(), planning.Undo{}, onPhase(event.PhaseCheck, func() {
				if err := meanwhile(); err != nil {
					b.Error(err)
				}
			}))
			if !errors.Is(err, leftovers.ErrOvertaken) {
				b.Errorf("%s: %v", name, err)
			}
			b.exec("DROP TABLE IF EXISTS "+b.schema+".t", "DROP TABLE IF EXISTS "+b.schema+".t_undo", "DROP TABLE IF EXISTS "+b.schema+".t_undone")
		}
	})
}
