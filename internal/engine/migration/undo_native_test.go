package migration_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// natively starts a change of table t by the method that the plan chooses.
func (b *bench) natively(clauses string, flags ...string) *child {
	b.Helper()
	return b.process("", nil, append([]string{"run", "ALTER TABLE " + b.schema + ".t " + clauses}, flags...)...)
}

// mustBeDefined fails the test unless table t has a definition.
func (b *bench) mustBeDefined(after, want string) {
	b.Helper()
	got, _ := schema.SplitAutoIncrement(b.definition())
	if want, _ = schema.SplitAutoIncrement(want); !schema.SameDefinition(got, want) {
		b.Errorf("%s: the table is\n%s\nwant\n%s", after, got, want)
	}
}

// TestU4_TheServersOwnChangeIsTakenBack: the server alters the table back, and again. No other table is left.
func TestU4_TheServersOwnChangeIsTakenBack(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(200)
		before := b.definition()
		for _, clauses := range []string{
			"ADD COLUMN added INT NOT NULL DEFAULT 7 FIRST, ADD INDEX by_v (v), COMMENT 'new'", "DROP INDEX u, ALTER COLUMN v SET DEFAULT 5",
			"CHANGE v w INT NOT NULL", "ADD COLUMN twice BIGINT AS (v * 2) VIRTUAL",
		} {
			value := "v = 1"
			if strings.Contains(clauses, "v w") {
				value = "w = 1"
			}
			b.natively(clauses, "--undo=1h").mustEnd()
			changed := b.definition()
			if u := b.undoable(); u.State != leftovers.UndoOpen || u.Record.Mode != "native" || u.Alter != clauses {
				b.Errorf("%s: the undo is %+v", clauses, u)
			}
			b.exec("INSERT INTO " + b.schema + ".t SET id = 9000, " + value)
			b.undoing().mustEnd()
			b.mustBeDefined("undo of "+clauses, before)
			if strings.HasPrefix(clauses, "ADD COLUMN added") {
				b.undoing().mustEnd()
				b.mustBeDefined("redo of "+clauses, changed)
				b.undoing("--extend=1h").mustEnd()
				b.undoing().mustEnd()
				b.mustBeDefined("undo of the redo of "+clauses, before)
			}
			if n := b.value("SELECT COUNT(*) FROM " + b.schema + ".t"); n != "201" {
				b.Errorf("%s: %s rows", clauses, n)
			}
			b.exec("DELETE FROM " + b.schema + ".t WHERE id = 9000")
			b.hasTables("digits,t,t_undo")
			b.undoing("--end").mustEnd()
			b.hasTables("digits,t")
		}
	})
}

// TestU3_NoRecordOfAChangeThatCannotBeTakenBack: the values of a dropped column are gone after the server's own change.
// With --undo a method is taken that keeps them, unless --undo-method permits the loss.
func TestU3_NoRecordOfAChangeThatCannotBeTakenBack(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(200)
		rows := b.sums("t")
		c := b.natively("DROP COLUMN v", "--undo=1h", "--undo-method=auto")
		code, last := c.wait()
		if code != 0 {
			b.Fatalf("exit code %d: %s", code, last)
		}
		if !c.heard(`"the change cannot be undone afterwards"`) || !c.heard(`"instead_ms":`) {
			b.Errorf("the plan does not warn: %q", c.said)
		}
		b.hasTables("digits,t")
		b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE "+b.schema+".digits")
		b.numbered(200)
		b.natively("DROP COLUMN v", "--undo=1h").mustEnd()
		b.hasTables("digits,t,t_old,t_undo")
		b.undoing().mustEnd()
		b.mustMatch("t", rows)
		b.undoing("--end").mustEnd()
		b.exec("DROP TABLE " + b.schema + ".t_undone")
		longest, want := "1m", "digits,t,t_old,t_undo"
		if strings.Contains(last, `"method":"instant"`) {
			longest, want = "1ms", "digits,t"
		}
		b.natively("DROP COLUMN v", "--undo=1h", "--undo-method=prefer", "--native-max-build="+longest).mustEnd()
		b.hasTables(want)
		if code, _ := b.natively("ADD COLUMN v INT", "--undo-method=require").wait(); code != 10 {
			b.Errorf("--undo-method without --undo: exit code %d", code)
		}
		if code, _ := b.natively("DROP COLUMN u", "--undo=1h", "--method=inplace", "--end-undo").wait(); code != 11 {
			b.Errorf("--undo with --method: exit code %d", code)
		}
		b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_undo")
	})
}

// TestU4_DefaultsOfBytesComeBack: the server shows some bytes of a default as they are, and they are no text. The undo gives
// new rows the same bytes as before.
func TestU4_DefaultsOfBytesComeBack(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		for _, clauses := range []string{"ALTER COLUMN v SET DEFAULT 'a'", "ADD COLUMN w VARBINARY(4) NOT NULL DEFAULT X'FE00'", "COMMENT 'new'"} {
			b.exec("CREATE TABLE " + b.schema + ".t (id INT PRIMARY KEY, v VARBINARY(4) NOT NULL DEFAULT X'FF00')")
			b.natively(clauses, "--undo=1h").mustEnd()
			for id, want := range []string{"FF00", map[bool]string{true: "61", false: "FF00"}[strings.Contains(clauses, "SET DEFAULT")], "FF00"} {
				b.undoing().mustEnd()
				b.exec(fmt.Sprintf("INSERT INTO %s.t (id) VALUES (%d)", b.schema, id))
				if got := b.value(fmt.Sprintf("SELECT HEX(v) FROM %s.t WHERE id = %d", b.schema, id)); got != want {
					b.Errorf("%s: the default is %s, want %s", clauses, got, want)
				}
				if id == 1 && strings.Contains(clauses, " w ") {
					if got := b.value("SELECT HEX(w) FROM " + b.schema + ".t WHERE id = 1"); got != "FE00" {
						b.Errorf("%s: the default of w is %s", clauses, got)
					}
				}
			}
			b.undoing("--end").mustEnd()
			for _, table := range []string{"t", "t_old", "t_undone"} {
				b.exec("DROP TABLE IF EXISTS " + b.schema + "." + table)
			}
		}
	})
}

// TestU3_NoUndoWithoutAKeyOfBothTables: an undo could follow no key of the new table, or its key has no index in the old table.
// The plan refuses such a change with --undo, or warns and keeps no undo.
func TestU3_NoUndoWithoutAKeyOfBothTables(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		for _, clauses := range []string{
			"DROP PRIMARY KEY, ADD n BIGINT AUTO_INCREMENT PRIMARY KEY, MODIFY v BIGINT",
			"DROP PRIMARY KEY, ADD PRIMARY KEY (v), MODIFY id BIGINT",
		} {
			b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, v INT NOT NULL)", "INSERT INTO "+b.schema+".t VALUES (1, 1), (2, 2)")
			if code, last := b.natively(clauses, "--undo=1h", "--method=shadow").wait(); code != 11 {
				b.Errorf("%s: exit code %d: %s", clauses, code, last)
			}
			b.hasTables("t")
			c := b.natively(clauses, "--undo=1h", "--method=shadow", "--undo-method=auto")
			if code, last := c.wait(); code != 0 {
				b.Errorf("%s: exit code %d: %s", clauses, code, last)
			}
			if !c.heard(`"the change cannot be undone afterwards"`) {
				b.Errorf("%s: the plan does not warn: %q", clauses, c.said)
			}
			b.hasTables("t,t_old")
			b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE "+b.schema+".t_old")
		}
		b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, v INT NOT NULL, UNIQUE (v))", "INSERT INTO "+b.schema+".t VALUES (1, 1), (2, 2)")
		b.natively("DROP PRIMARY KEY, DROP COLUMN id", "--undo=1h", "--method=shadow").mustEnd()
		b.undoing().mustEnd()
		b.exec("DROP TABLE " + b.schema + ".t_undo")
	})
}

// TestL7_KilledChangeOfTheServerIsFound: the server's own change, its undo and the redo are killed before and after each
// statement. The same command again comes to its end.
func TestL7_KilledChangeOfTheServerIsFound(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(200)
		undo := func(b *bench) *child { return b.undoing() }
		change := func(b *bench) *child { return b.natively("ADD COLUMN added INT", "--undo=1h") }
		before := b.definition()
		change(b).mustEnd()
		changed := b.definition()
		b.undoing().mustEnd()
		b.undoing("--end").mustEnd()
		alterTable, write := "ALTER TABLE `"+b.schema+"`.`t` ALGORITHM", "`"+b.schema+"`.`t_undo`"
		for _, s := range []struct {
			name, want string
			pauses     []fault.Rule
			start      func(*bench) *child
		}{
			{"change", changed, []fault.Rule{{At: "CREATE TABLE " + write}, {At: "INSERT INTO " + write}, {At: alterTable}, {At: "UPDATE " + write}}, change},
			{"undo", before, []fault.Rule{{At: "UPDATE " + write}, {At: alterTable}, {After: alterTable, At: "UPDATE " + write}}, undo},
			{"redo", changed, []fault.Rule{{At: "UPDATE " + write}, {At: alterTable}, {After: alterTable, At: "UPDATE " + write}}, undo},
		} {
			for _, rule := range halfInTurn(t, s.pauses) {
				after := s.name + " killed at " + rule.At
				code, last := b.killIf(rule, func() *child { return s.start(b) })
				if code != -1 {
					b.Errorf("%s: not killed: exit code %d: %s", after, code, last)
				} else if code, last := s.start(b).wait(); code != 0 {
					b.Fatalf("%s: exit code %d: %s", after, code, last)
				}
				b.mustBeDefined(after, s.want)
				if u := b.undoable(); u.State != leftovers.UndoOpen || u.Record.Back != (s.name == "undo") {
					b.Errorf("%s: the undo is %+v", after, u)
				}
				b.undoing().mustEnd()
				if s.name == "change" {
					b.mustBeDefined("undo after "+after, before)
					b.undoing("--end").mustEnd()
				}
			}
			s.start(b).mustEnd()
		}
		b.undoing("--end").mustEnd()
	})
}

// TestU1_TheServersChangeInAnOpenUndo: a column that the server adds leaves the undo of an earlier change open. A change
// of what the undo reads is refused.
func TestU1_TheServersChangeInAnOpenUndo(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, modern()), func(b *bench) {
		l := b.ledger(ledger.Int(), 1000, ledger.Options{Rate: 200, Writers: 2})
		b.start(l)
		b.child(alter, "", nil, "--undo=1h").mustEnd()
		b.natively("ADD COLUMN later INT").mustEnd()
		for clauses, why := range map[string]string{
			"DROP COLUMN details": "drops or renames", "MODIFY name VARCHAR(63) CHARACTER SET utf8mb4 NOT NULL": "another type",
			"ADD COLUMN other INT, COMMENT 'other'": "--undo would end that undo",
		} {
			flags := []string{"--method=auto"}
			if strings.Contains(why, "--undo") {
				flags = append(flags, "--undo=1h")
			}
			c := b.natively(clauses, flags...)
			if code, last := c.wait(); code != 11 || !strings.Contains(last, why) || !strings.Contains(last, "--end-undo") {
				b.Errorf("%s: exit code %d: %s", clauses, code, last)
			}
		}
		b.undoing().mustEnd()
		b.mustMatchLedger(l)
		b.undoing("--end").mustEnd()
		b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_undone")
	})
}

// TestU3_AnAlteredTableIsNotTakenBack: another session has altered the table since the server's own change.
func TestU3_AnAlteredTableIsNotTakenBack(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(50)
		b.natively("ADD COLUMN added INT", "--undo=1h").mustEnd()
		if code, last := b.natively("ADD COLUMN more INT").wait(); code != 11 || !strings.Contains(last, "as the last change has left it") {
			b.Errorf("a second change: exit code %d: %s", code, last)
		}
		b.exec("ALTER TABLE " + b.schema + ".t ADD COLUMN more INT")
		if u := b.undoable(); u.State != leftovers.UndoEnded || !strings.Contains(u.Why, "altered since") {
			b.Errorf("the undo is %s: %s", u.State, u.Why)
		}
		if code, last := b.undoing().wait(); code != 11 || !strings.Contains(last, "altered since the change") {
			b.Errorf("undo: exit code %d: %s", code, last)
		}
		b.natively("ADD COLUMN third INT", "--end-undo").mustEnd()
		b.undoing("--end").mustEnd()
	})
}

// TestU1_UndoByTheLogOfTriggers: where no binlog can be read, triggers on the new table log the changed rows from the swap
// on. The change is undone and redone while writers work, and the triggers of the application stay.
func TestU1_UndoByTheLogOfTriggers(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.capture = plan.CaptureTrigger
		l := b.ledger(ledger.Int(), 1500, ledger.Options{Rate: 200, Writers: 2})
		b.exec("CREATE TABLE "+b.schema+".audit (n INT NOT NULL)", "INSERT INTO "+b.schema+".audit VALUES (0)",
			"CREATE TRIGGER "+b.schema+".counts AFTER UPDATE ON "+b.schema+".t FOR EACH ROW UPDATE "+b.schema+".audit SET n = n + 1")
		b.start(l)
		b.child(alter, "", nil, "--undo=1h", "--lock-work=2s").mustEnd()
		for _, log := range []string{"t_since", "t_since2", "t_since"} {
			if got := b.value("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = '" + b.schema +
				"' AND (table_name LIKE 't\\_since%' OR table_name LIKE 't\\_capture')"); got != log {
				b.Errorf("the logs are %s, want %s", got, log)
			}
			if u := b.undoable(); u.State != leftovers.UndoOpen {
				b.Errorf("the undo is %s: %s", u.State, u.Why)
			}
			before := b.value("SELECT n FROM " + b.schema + ".audit")
			for b.value("SELECT n > "+before+" FROM "+b.schema+".audit") != "1" { // the writers write on
				if err := dbconn.Sleep(b.ctx(), 10*time.Millisecond); err != nil {
					b.Fatal(err)
				}
			}
			if log == "t_since" {
				c := b.undoing("--lock-work=2s")
				c.mustEnd()
				if !c.heard(`"mode":"lazy"`) {
					b.Errorf("the undo by %s is not lazy", log)
				}
				continue
			}
			b.undoing("--lock-work=2s").mustEnd()
		}
		b.mustMatchLedger(l)
		if got := b.value("SELECT GROUP_CONCAT(trigger_name) FROM information_schema.triggers WHERE trigger_schema = '" + b.schema +
			"' AND trigger_name NOT LIKE 't\\_since%'"); got != "counts" {
			b.Errorf("the other triggers are %s", got)
		}
		b.undoing("--end").mustEnd()
		if got := b.value("SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = '" + b.schema + "'"); got != "1" {
			b.Errorf("%s triggers are left", got)
		}
	})
}

// TestL7_KilledUndoByTheLogComesToItsEnd: a change whose undo reads the log of triggers, and the undo, are killed where they
// make and drop that log. The same command again comes to its end, and cleanup drops nothing that the undo needs.
func TestL7_KilledUndoByTheLogComesToItsEnd(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.capture = plan.CaptureTrigger
		l := b.ledger(ledger.Int(), 1000, ledger.Options{Rate: 200, Writers: 2})
		b.start(l)
		flags := []string{"--lock-work=2s"}
		change := func() *child { return b.child(alter, "", nil, append(flags, "--undo=1h")...) }
		undo := func() *child { return b.undoing(flags...) }
		for _, s := range []struct {
			at    string
			start func() *child
		}{
			{"CREATE TRIGGER `%s`.`t_since_update`", change}, {"CREATE TRIGGER `%s`.`t_since2_update`", undo},
			{"DROP TRIGGER IF EXISTS `%s`.`t_since2_", undo}, {"RENAME TABLE `%s`.`t`", undo},
		} {
			at := strings.ReplaceAll(s.at, "%s", b.schema)
			if code, last := b.killIf(fault.Rule{At: at}, s.start); code != -1 {
				b.Fatalf("not killed at %s: exit code %d: %s", at, code, last)
			}
			if code, last := s.start().wait(); code != 0 {
				b.Fatalf("killed at %s: exit code %d: %s", at, code, last)
			}
			b.afterCleanup()
			if u := b.undoable(); u.State != leftovers.UndoOpen {
				b.Errorf("killed at %s: the undo is %s: %s", at, u.State, u.Why)
			}
		}
		b.mustMatchLedger(l)
		b.undoing("--end").mustEnd()
	})
}
