package migration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/park"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/schema"
)

// shown is a table of the test as the server shows it, without its counter.
func (b *bench) shown(table string) string {
	b.Helper()
	var name, text string
	if err := b.db.QueryRowContext(b.ctx(), "SHOW CREATE TABLE "+b.schema+"."+table).Scan(&name, &text); err != nil {
		b.Fatal(err)
	}
	text, _ = schema.SplitAutoIncrement(text)
	return text
}

// mustBeShown fails the test unless table t has this definition.
func (b *bench) mustBeShown(want string) {
	b.Helper()
	if got := b.shown("t"); got != want {
		b.Errorf("the table is\n%s\nand should be\n%s", got, want)
	}
}

// TestU2_RowsWrittenToTheOldTableDuringAnUndo: another session writes to the old table while a lazy undo is at work. The
// undo makes the rows equal again.
func TestU2_RowsWrittenToTheOldTableDuringAnUndo(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.changed("ADD COLUMN added INT")
		rows := b.sums("t")
		b.mustUndo(planning.Undo{}, onPhase(event.PhaseCatchUp, func() {
			b.exec("UPDATE "+b.schema+".t_old SET v = -7 WHERE id = 4", "DELETE FROM "+b.schema+".t_old WHERE id = 5",
				"INSERT INTO "+b.schema+".t_old (id, v) VALUES (7000, 1)")
		}))
		b.mustMatch("t", rows)
	})
}

// TestU2_RowsWrittenToTheOldTableAfterTheUndoHasSyncedThem: the undo has synced and compared rows, and another session writes them in the
// old table just before the swap. The binlog shows that it was not the undo: they are equal again.
func TestU2_RowsWrittenToTheOldTableAfterTheUndoHasSyncedThem(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.changed("ADD COLUMN added INT")
		b.exec("UPDATE "+b.schema+".t SET v = 50 WHERE id IN (4, 5)", "DELETE FROM "+b.schema+".t WHERE id = 6")
		rows := b.sums("t")
		b.mustUndo(planning.Undo{}, onPhase(event.PhaseCutover, func() {
			b.exec("UPDATE "+b.schema+".t_old SET v = -7 WHERE id = 4", "DELETE FROM "+b.schema+".t_old WHERE id = 5",
				"INSERT INTO "+b.schema+".t_old (id, v) VALUES (6, 1)")
		}))
		b.mustMatch("t", rows)
	})
}

// TestL3_UndoWithAnyRowImages: a lazy undo needs the keys of the rows only, and its own writes to the old table need no
// more, wherever the key is among the columns.
func TestL3_UndoWithAnyRowImages(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, version := range inTurn(t, all) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := on(t, version, mysqltest.Own(t, version, sandbox.Options{}))
			settings := []string{"binlog_row_image = 'MINIMAL'", "binlog_row_image = 'NOBLOB'"}
			if isMariaDB(version) {
				settings = append(settings, "log_bin_compress = ON")
			} else if version != "5.7" {
				settings = append(settings, "binlog_row_value_options = 'PARTIAL_JSON'")
			}
			if version == "9.7" {
				settings = append(settings, "binlog_transaction_compression = ON")
			}
			b.Cleanup(func() { b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_undo") })
			for _, s := range settings {
				b.exec("SET GLOBAL " + s)
				b.db.SetMaxIdleConns(0) // sessions take the setting
				b.exec("DROP TABLE IF EXISTS "+b.schema+".t_undo", "DROP TABLE IF EXISTS "+b.schema+".t", "DROP TABLE IF EXISTS "+b.schema+".t_undone",
					"DROP TABLE IF EXISTS "+b.schema+".digits",
					"CREATE TABLE "+b.schema+".t (doc JSON, note TEXT, id INT NOT NULL, v INT, u INT NOT NULL, gone INT, PRIMARY KEY (u), UNIQUE KEY k (id))")
				for i := range 20 {
					b.exec(fmt.Sprintf("INSERT INTO %s.t VALUES ('{\"a\": 1, \"b\": \"long enough to be worth a part\"}', 'n', %[2]d, %[2]d, %[2]d, %[2]d)", b.schema, i))
				}
				b.cfg.Undo = time.Hour
				b.mustMigrate("ADD COLUMN added INT, DROP COLUMN gone")
				b.exec("UPDATE "+b.schema+".t SET v = v + 1 WHERE id = 3", "DELETE FROM "+b.schema+".t WHERE id = 4",
					"UPDATE "+b.schema+".t SET u = 100 WHERE id = 5", "UPDATE "+b.schema+".t SET doc = JSON_SET(doc, '$.a', 2) WHERE id = 6")
				want := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, v, u, doc) ORDER BY id) FROM " + b.schema + ".t")
				b.mustUndo(planning.Undo{})
				if got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, v, u, doc) ORDER BY id) FROM " + b.schema + ".t"); got != want {
					b.Errorf("%s: rows are %s, want %s", s, got, want)
				}
				if got := b.value("SELECT COUNT(*) FROM " + b.schema + ".t WHERE gone <> id OR gone IS NULL"); got != "0" {
					b.Errorf("%s: %s rows have lost a value", s, got)
				}
			}
		})
	}
}

// TestU4_LongCommentComesBack: a table's comment is as long as the server takes, so that the old table's mark has only a
// part of it.
func TestU4_LongCommentComesBack(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.exec("CREATE TABLE " + b.schema + ".t (id INT PRIMARY KEY, v INT) COMMENT '" + strings.Repeat("é", 2047) + "x'")
		before := b.shown("t")
		b.cfg.Undo = time.Hour
		b.mustMigrate("ADD COLUMN added INT")
		after := b.shown("t")
		for _, want := range []string{before, after, before} {
			b.mustUndo(planning.Undo{})
			b.mustBeShown(want)
		}
		b.exec("DROP TABLE " + b.schema + ".t_undo")
	})
}

// TestU4_DroppedForeignKeysComeBack: the change has dropped a foreign key. The undo brings it back if all rows have
// parents, and refuses before the lock if not.
func TestU4_DroppedForeignKeysComeBack(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onThese(t, inTurn(t, []string{"9.7", "mariadb-10.11"}), func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".p (id INT PRIMARY KEY)", "INSERT INTO "+b.schema+".p VALUES (1), (2)",
			"CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, p INT, q INT, CONSTRAINT tp FOREIGN KEY (p) REFERENCES "+b.schema+".p (id),"+
				" CONSTRAINT tq FOREIGN KEY (q) REFERENCES "+b.schema+".p (id))",
			"INSERT INTO "+b.schema+".t VALUES (1, 1, 1), (2, 2, NULL)")
		before := b.shown("t")
		b.cfg.Undo = time.Hour
		b.mustMigrate("DROP FOREIGN KEY tp, ADD COLUMN added INT")
		after := b.shown("t")
		b.exec("INSERT INTO " + b.schema + ".t VALUES (3, 9, 1, 1)")
		_, err := b.undo(b.ctx(), planning.Undo{})
		if !errors.Is(err, park.ErrUnfit) {
			b.Errorf("with a row without a parent: %v", err)
		}
		b.mustBeShown(after)
		b.exec("DELETE FROM " + b.schema + ".t WHERE id = 3")
		for late, again := range map[string]string{ // after the last look before the lock
			"INSERT INTO %s.t VALUES (4, 9, 1, 1)": "DELETE FROM %s.t WHERE id = 4",
			"DELETE FROM %s.p WHERE id = 2":        "INSERT INTO %s.p VALUES (2)",
		} {
			_, err := b.undo(b.ctx(), planning.Undo{}, onPhase(event.PhaseCutover, func() { b.exec(fmt.Sprintf(late, b.schema)) }))
			if !errors.Is(err, park.ErrUnfit) {
				b.Errorf("%s just before the lock: %v", late, err)
			}
			b.mustBeShown(after)
			b.exec(fmt.Sprintf(again, b.schema))
		}
		for _, want := range []string{before, after, before} {
			b.mustUndo(planning.Undo{})
			b.mustBeShown(want)
		}
		b.exec("DROP TABLE " + b.schema + ".t_undo")
	})
}

// TestU4_NewRowWithoutAValueIsUnfit: the change has dropped a NOT NULL column without a default, and a new row has no
// value for it. The undo lists the row, and takes it with --undo-fill.
func TestU4_NewRowWithoutAValueIsUnfit(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, v INT, note VARCHAR(20) NOT NULL)",
			"INSERT INTO "+b.schema+".t VALUES (1, 1, 'one'), (2, 2, 'two')")
		b.cfg.Undo = time.Hour
		b.mustMigrate("DROP COLUMN note")
		b.exec("INSERT INTO "+b.schema+".t VALUES (3, 3), (4, 4)", "UPDATE "+b.schema+".t SET v = 9 WHERE id = 1")
		if _, err := b.undo(b.ctx(), planning.Undo{}); !errors.Is(err, park.ErrUnfit) {
			b.Errorf("the undo of rows without a value: %v", err)
		}
		b.mustUndo(planning.Undo{Fills: map[string]string{"note": "CONCAT('new ', id)"}})
		if got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, v, note) ORDER BY id) FROM " + b.schema + ".t"); got != "1 9 one,2 2 two,3 3 new 3,4 4 new 4" {
			b.Errorf("rows are %s", got)
		}
		b.exec("DROP TABLE " + b.schema + ".t_undo")
	})
}

// TestU4_ChangedNamesComeBack: the change swaps the names of two columns, and gives a dropped column's name to another.
func TestU4_ChangedNamesComeBack(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT, a INT, b INT, gone INT, kept INT, PRIMARY KEY (id))",
			"INSERT INTO "+b.schema+".t VALUES (1, 10, 20, 30, 40), (2, 11, 21, 31, 41), (3, 12, 22, 32, 42)")
		before := b.shown("t")
		b.cfg.Undo = time.Hour
		b.mustMigrate("CHANGE a b INT, CHANGE b a INT, DROP COLUMN gone, CHANGE kept gone INT, CHANGE id kept INT NOT NULL")
		after := b.shown("t")
		b.exec("UPDATE " + b.schema + ".t SET b = 99, a = 88 WHERE kept = 2")
		for i, want := range []string{before, after, before} {
			b.mustUndo(planning.Undo{Cold: i > 0})
			b.mustBeShown(want)
		}
		const rows = "SELECT GROUP_CONCAT(CONCAT_WS(' ', id, a, b, gone, kept) ORDER BY id) FROM "
		if got := b.value(rows + b.schema + ".t"); got != "1 10 20 30 40,2 99 88 31 41,3 12 22 32 42" {
			b.Errorf("rows are %s", got)
		}
		b.exec("DROP TABLE " + b.schema + ".t_undo")
	})
}

// TestU5_ConstraintsOfDroppedColumns: unique keys, CHECKs and generated columns over dropped columns hold for the values that
// the old table has. An undo of all rows does not judge them by defaults.
func TestU5_ConstraintsOfDroppedColumns(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, []string{"9.7", "mariadb-11.8"}), func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, v INT NOT NULL, code INT NOT NULL, n INT NOT NULL DEFAULT 1, UNIQUE code (code),"+
			" UNIQUE n (n), UNIQUE both_of (v, code), CONSTRAINT first_of_t CHECK (code > v), CONSTRAINT second_of_t CHECK (n > 1), half INT AS (10 DIV (n - 1)) STORED)",
			"INSERT INTO "+b.schema+".t (id, v, code, n) VALUES (1, 1, 11, 2), (2, 1, 12, 3), (3, 3, 13, 4)")
		b.cfg.Undo = time.Hour
		b.mustMigrate("DROP COLUMN half, DROP COLUMN code, DROP COLUMN n, DROP INDEX code, DROP INDEX n, DROP INDEX both_of, MODIFY v BIGINT NOT NULL," +
			" DROP CONSTRAINT first_of_t, DROP CONSTRAINT second_of_t")
		b.exec("UPDATE " + b.schema + ".t SET v = 2 WHERE id = 1")
		b.mustUndo(planning.Undo{Cold: true})
		if got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, v, code, n, half) ORDER BY id) FROM " + b.schema + ".t"); got != "1 2 11 2 10,2 1 12 3 5,3 3 13 4 3" {
			b.Errorf("rows are %s", got)
		}
		b.exec("DROP TABLE " + b.schema + ".t_undo")
	})
}

// TestU3_AnUndoIsOpenHoweverNamesAreShown: MySQL 5.7 shows names in an expression with or without backticks, as the session had
// sql_quote_show_create that opened the table. The old table is the one that the change has left.
func TestU3_AnUndoIsOpenHoweverNamesAreShown(t *testing.T) {
	sideBySide(t)
	onThese(t, []string{"5.7"}, func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, v INT, g INT AS (v + 1) VIRTUAL)", "INSERT INTO "+b.schema+".t (id, v) VALUES (1, 1)")
		b.cfg.Undo = time.Hour
		b.mustMigrate("ADD COLUMN w INT")
		b.feeder().exec("SET SESSION sql_quote_show_create = 0", "FLUSH TABLES t_old", "SELECT COUNT(*) FROM t_old")
		if u := b.undoable(); u.State != leftovers.UndoOpen {
			b.Errorf("the undo is %s: %s", u.State, u.Why)
		}
		b.mustUndo(planning.Undo{})
		b.exec("DROP TABLE " + b.schema + ".t_undo")
	})
}
