package migration_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TestU4_UndoWithoutARecord: writers work through a change without --undo, its undo by all rows, and the redo, of which the
// undo has left a record.
func TestU4_UndoWithoutARecord(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		l := b.ledger(ledger.Int(), 2000, ledger.Options{})
		b.exec("ALTER TABLE " + b.schema + ".t COMMENT 'orders'")
		before := b.shown("t")
		b.start(l)
		b.mustMigrate(alter)
		after := b.shown("t")
		for _, how := range []planning.Undo{{Cold: true}, {Lazy: true}} {
			time.Sleep(100 * time.Millisecond)
			b.mustUndo(how)
			b.mustBeShown(map[bool]string{false: before, true: after}[how.Lazy])
		}
		b.mustMatchLedger(l)
		if got := b.tables(); got != "t,t_old,t_undo" {
			b.Errorf("the tables are %s", got)
		}
		b.exec("DROP TABLE " + b.schema + ".t_undo")
	})
}

// TestL6_UndoWithoutARecordCarriesForeignKeysAndTriggers: the change has dropped a foreign key, which does not come back, and
// has rounded values, which the plan names. What the table has now is carried over. A kill leaves constraints on the old table.
func TestL6_UndoWithoutARecordCarriesForeignKeysAndTriggers(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, []string{"9.7", "mariadb-10.11"}), func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".p (id INT PRIMARY KEY)", "INSERT INTO "+b.schema+".p VALUES (1), (2)",
			"CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, p INT, q INT, d DECIMAL(10,4), note INT DEFAULT 7,"+
				" CONSTRAINT tp FOREIGN KEY (p) REFERENCES "+b.schema+".p (id) ON DELETE CASCADE, CONSTRAINT tq FOREIGN KEY (q) REFERENCES "+b.schema+".p (id))",
			"INSERT INTO "+b.schema+".t (id, p, q, d, note) VALUES (1, 1, 1, 1.2345, 1), (2, 2, 2, 2, 2)")
		keys := "t tp p"
		if b.version == "9.7" { // MariaDB refuses it
			keys = "c ct t, t tp p"
			b.exec("CREATE TABLE "+b.schema+".c (id INT PRIMARY KEY, t INT, CONSTRAINT ct FOREIGN KEY (t) REFERENCES "+b.schema+".t (id))",
				"INSERT INTO "+b.schema+".c VALUES (1, 1)")
		}
		b.mustMigrate("DROP FOREIGN KEY tq, DROP COLUMN note, MODIFY d DECIMAL(10,2)")
		b.exec("CREATE TRIGGER "+b.schema+".tr BEFORE INSERT ON "+b.schema+".t FOR EACH ROW SET NEW.q = 9", "DELETE FROM "+b.schema+".p WHERE id = 2",
			"INSERT INTO "+b.schema+".t (id, p) VALUES (3, 1)")
		code, last := b.killIf(fault.Rule{At: "INSERT INTO `" + b.schema + "`.`t_undo` (id"}, func() *child { return b.undoing("--cold") })
		if code != -1 {
			b.Fatalf("not killed: %d: %s", code, last)
		}
		pool, err := b.open(b.ctx())
		if err != nil {
			b.Fatal(err)
		}
		defer pool.Close()
		server := planning.Server{Pool: pool, Binlog: b.binlogServer(), Address: b.address}
		plans := func() (*plan.Plan, error) {
			return planning.Make(b.ctx(), server, &ddl.Alter{Table: schema.Name{Schema: b.schema, Table: "t"}},
				planning.Options{Undo: &planning.Undo{Cold: true}, Config: b.cfg, Settings: b.settings, FactsOnly: true})
		}
		p, err := plans()
		for n := 0; n < 50 && err != nil && strings.Contains(err.Error(), "is working on the table"); n++ { // the killed one's connection
			time.Sleep(100 * time.Millisecond)
			p, err = plans()
		}
		if err != nil {
			b.Fatal(err)
		}
		for _, want := range []string{"foreign keys and triggers that the change has dropped", "the present values replace", "has now: note"} {
			if !slices.ContainsFunc(p.Risks, func(r plan.Risk) bool { return strings.Contains(r.What, want) }) {
				b.Errorf("the plan does not name %q: %v", want, p.Risks)
			}
		}
		b.undoing("--cold").mustEnd()
		const rows = "SELECT GROUP_CONCAT(CONCAT_WS(' ', id, p, q, d, note) ORDER BY id SEPARATOR ', ') FROM "
		if got, want := b.value(rows+b.schema+".t"), "1 1 1 1.2300 1, 3 1 9 7"; got != want {
			b.Errorf("rows are %s, want %s", got, want)
		}
		if got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', table_name, constraint_name, referenced_table_name) ORDER BY constraint_name SEPARATOR ', ')" +
			" FROM information_schema.referential_constraints WHERE constraint_schema = '" + b.schema + "'"); got != keys {
			b.Errorf("foreign keys are %s, want %s", got, keys)
		}
		if got := b.value("SELECT GROUP_CONCAT(event_object_table) FROM information_schema.triggers WHERE trigger_schema = '" + b.schema + "'"); got != "t" {
			b.Errorf("triggers are on %s", got)
		}
		b.undoing("--end").mustEnd()
	})
}

// unrecorded makes table t, and drops columns of it by a change that keeps nothing for an undo.
func (b *bench) unrecorded() {
	b.Helper()
	b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
		"CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, u INT NOT NULL, note VARCHAR(20) NOT NULL, at DATETIME NULL, v INT, UNIQUE (u))",
		"INSERT INTO "+b.schema+".t VALUES (1, 1, 'one', '2020-01-01', 1), (2, 2, 'two', NULL, 2), (3, 3, 'three', '2020-01-03', 3),"+
			" (4, 4, 'four', NULL, 4), (5, 5, 'five', NULL, 5)")
	b.mustMigrate("DROP COLUMN note, DROP COLUMN at, MODIFY v BIGINT")
}

// TestU5_UndoWithoutARecordKeepsValues: rows are deleted, inserted again, exchange their unique values, and another session
// writes to the old table, before a change is taken back of which nothing was kept. Its first attempt is killed.
func TestU5_UndoWithoutARecordKeepsValues(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.unrecorded()
		b.exec("UPDATE "+b.schema+".t SET v = 20 WHERE id = 2",
			"DELETE FROM "+b.schema+".t WHERE id = 3", "INSERT INTO "+b.schema+".t VALUES (3, 3, 30)",
			"UPDATE "+b.schema+".t SET u = 40 WHERE id = 4", "UPDATE "+b.schema+".t SET u = 4 WHERE id = 5",
			"DELETE FROM "+b.schema+".t WHERE id = 1",
			"UPDATE "+b.schema+".t_old SET u = 9, v = 9 WHERE id = 2", "DELETE FROM "+b.schema+".t_old WHERE id = 5",
			"INSERT INTO "+b.schema+".t_old VALUES (5, 50, 'fifth', NULL, 0), (6, 6, 'six', NULL, 6)")
		code, last := b.killIf(fault.Rule{At: "RENAME TABLE `" + b.schema + "`.`t`"}, func() *child { return b.undoing("--cold") })
		if code != -1 {
			b.Fatalf("not killed: %d: %s", code, last)
		}
		b.undoing("--cold").mustEnd()
		const rows = "SELECT GROUP_CONCAT(CONCAT_WS(' ', id, u, note, IFNULL(at, 'NULL'), v) ORDER BY id SEPARATOR ', ') FROM "
		want := "2 2 two NULL 20, 3 3 three 2020-01-03 00:00:00 30, 4 40 four NULL 4, 5 4 fifth NULL 5"
		if got := b.value(rows + b.schema + ".t"); got != want {
			b.Errorf("rows are %s, want %s", got, want)
		}
		b.undoing("--end").mustEnd()
	})
}

// TestU4_NoRenameIsGuessed: a column is gone, and there is a new one. Only the operator knows if it is the same.
func TestU4_NoRenameIsGuessed(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		t := b.schema + ".t"
		for _, c := range []struct {
			says map[string]string
			want string // none: refused
		}{
			{nil, ""},
			{map[string]string{"x": ""}, ""},
			{map[string]string{"y": "", "remark": "z"}, ""},
			{map[string]string{"remark": "note", "x": "note"}, ""},
			{map[string]string{"remark": "note", "x": ""}, "1 new, 2 two"},
			{map[string]string{"remark": "", "x": ""}, "1 one, 2 two"},
		} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema, "CREATE TABLE "+t+" (id INT PRIMARY KEY, note VARCHAR(20))",
				"INSERT INTO "+t+" VALUES (1, 'one'), (2, 'two')")
			b.mustMigrate("CHANGE note remark VARCHAR(30), ADD COLUMN x INT")
			b.exec("UPDATE " + t + " SET remark = 'new' WHERE id = 1")
			_, err := b.undoMapped(b.ctx(), planning.Undo{Cold: true}, c.says)
			if c.want == "" {
				var refused *plan.Refused
				if !errors.As(err, &refused) || b.tables() != "t,t_old" || !strings.Contains(refused.Blocking[0].Fix, "--map") {
					b.Errorf("%v: the error is %v, and the tables are %s", c.says, err, b.tables())
				}
				continue
			}
			if err != nil {
				b.Fatalf("%v: %v", c.says, err)
			}
			if got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, note) ORDER BY id SEPARATOR ', ') FROM " + t); got != c.want {
				b.Errorf("%v: rows are %s, want %s", c.says, got, c.want)
			}
			b.mustUndo(planning.Undo{Cold: true}) // the redo
			if got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, remark) ORDER BY id SEPARATOR ', ') FROM " + t); got != "1 new, 2 two" {
				b.Errorf("%v: after the redo, rows are %s", c.says, got)
			}
		}
		b.exec("DROP TABLE " + b.schema + ".t_undo")
	})
}

// TestL8_UndoWithoutARecordNeedsTheMark: a table that has the name of an old table is a stranger's, or there are two old
// tables. Both are refused before anything is written.
func TestL8_UndoWithoutARecordNeedsTheMark(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.unrecorded()
		b.exec("ALTER TABLE " + b.schema + ".t_old COMMENT 'mine'")
		_, err := b.undo(b.ctx(), planning.Undo{Cold: true})
		if !errors.Is(err, leftovers.ErrNoUndo) || !strings.Contains(err.Error(), "t_old has no mark") {
			b.Errorf("the error is %v", err)
		}
		b.exec("ALTER TABLE "+b.schema+".t_old COMMENT 'midstream old of "+b.schema+".t; it was: '",
			"CREATE TABLE "+b.schema+".t_old2 LIKE "+b.schema+".t_old")
		_, err = b.undo(b.ctx(), planning.Undo{Cold: true})
		var refused *plan.Refused
		if !errors.As(err, &refused) || !strings.Contains(refused.Error(), "several old tables, the newest first: t_old2 (20") {
			b.Errorf("the error is %v", err)
		}
		_, err = b.undo(b.ctx(), planning.Undo{})
		if !errors.As(err, &refused) || !regexp.MustCompile(`first: t_old2 \(20.* UTC\), t_old \(20.* UTC\);`).MatchString(refused.Error()) ||
			!strings.Contains(refused.Blocking[0].Fix, "newest one: midstream undo  --plan --cold --shadow-name=t_old2 ") {
			b.Errorf("the error is %v", err)
		}
		b.mustRefuse("a table that is none", b.undoing("--cold", "--shadow-name=t"), "has no mark")
		b.mustRefuse("one that follows", b.undoing("--cold", "--hold", "--shadow-name=t_old"), "cannot use --hold")
		if got := b.tables(); got != "t,t_old,t_old2" {
			b.Errorf("the tables are %s", got)
		}
		b.undoing("--cold", "--shadow-name=t_old").mustEnd()
		if got := b.value("SELECT GROUP_CONCAT(note ORDER BY id) FROM " + b.schema + ".t"); got != "one,two,three,four,five" {
			b.Errorf("notes are %s", got)
		}
		b.undoing("--end").mustEnd()
	})
}

// TestL7_KilledUndoWithoutARecord: an undo of a change of which nothing was kept is killed at each place that only such an undo
// has, and given up. No value is lost, and the same command comes to its end.
func TestL7_KilledUndoWithoutARecord(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		for _, pause := range halfInTurn(t, []string{
			"INSERT INTO `%s`.`t_midstream` (id",
			"CREATE TABLE `%s`.`t_undo`",
			"INSERT INTO `%s`.`t_undo` (id",
			"SET state = CASE id",
			"ALTER TABLE `%s`.`t_old` COMMENT",
			"RENAME TO `%s`.`t_undo`",
		}) {
			b.unrecorded()
			b.exec("UPDATE "+b.schema+".t SET u = 40 WHERE id = 4", "UPDATE "+b.schema+".t SET u = 4 WHERE id = 5")
			at := strings.ReplaceAll(pause, "%s", b.schema)
			if code, last := b.killIf(fault.Rule{At: at}, func() *child { return b.undoing("--cold") }); code != -1 {
				b.Fatalf("%s: not killed: %d: %s", at, code, last)
			}
			b.undoing("--cold").mustEnd()
			const rows = "SELECT GROUP_CONCAT(CONCAT_WS(' ', id, u, note) ORDER BY id SEPARATOR ', ') FROM "
			if got, want := b.value(rows+b.schema+".t"), "1 1 one, 2 2 two, 3 3 three, 4 40 four, 5 4 five"; got != want {
				b.Errorf("%s: rows are %s, want %s", at, got, want)
			}
			if got := b.tables(); got != "t,t_undo,t_undone" {
				b.Errorf("%s: the tables are %s", at, got)
			}
			b.undoing("--end").mustEnd()
		}
	})
}
