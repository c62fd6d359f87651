package cli

import (
	"regexp"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestWithParkThePlanSaysThatARowWithoutAValueIsParked: the change has dropped a column without a default. With --park, a new row
// without a value for it does not end the undo.
func TestWithParkThePlanSaysThatARowWithoutAValueIsParked(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		const ends, parks = "without it such a row ends the undo before its swap", "without it such a row is copied to a table of its own, and the undo goes back without it (--park)"
		r.exec("ALTER TABLE t ADD COLUMN note VARCHAR(20) NOT NULL")
		r.says("run", exit.Done, "ALTER TABLE t DROP COLUMN note", []string{"--undo=1h"})
		r.exec("INSERT INTO t (id, a) VALUES (7000, 1)")
		r.says("undo", exit.Done, "t", []string{"--plan"}, ends, "need a value for note (no default)")
		lacks(r.T, r.says("undo", exit.Done, "t", []string{"--plan", "--park"}, parks, "--undo-fill \"note=''\" --park",
			"Unfit rows not checked; the undo copies them to a table of their own"), "ends the undo", "changes nothing then")
		r.says("undo", exit.Done, "t", []string{"--park"}, parks)
		if got := r.query("SELECT GROUP_CONCAT(id) FROM t_parked"); got != "7000" {
			r.Errorf("the parked rows are %s", got)
		}
		r.exec("DROP TABLE t_parked")
		r.says("undo", exit.Done, "t", []string{"--end"})
	})
}

// TestAStatementThatCannotBeUndoneNamesEachReason: TRUNCATE and DROP with --undo are refused. The refusal has all reasons, so that the
// second try is not refused for another one.
func TestAStatementThatCannotBeUndoneNamesEachReason(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		hour := []string{"--undo=1h"}
		r.exec("CREATE TABLE p (id INT PRIMARY KEY)",
			"CREATE TABLE c (id INT PRIMARY KEY, p INT, own INT, CONSTRAINT fp FOREIGN KEY (p) REFERENCES p (id), CONSTRAINT fo FOREIGN KEY (own) REFERENCES c (id))",
			"CREATE TABLE d (id INT PRIMARY KEY, c INT, CONSTRAINT fd FOREIGN KEY (c) REFERENCES c (id))",
			"CREATE TRIGGER g BEFORE INSERT ON c FOR EACH ROW SET NEW.p = NEW.p", "CREATE TABLE c_shadow (id INT)")
		for _, verb := range []string{"plan", "run"} {
			r.says(verb, exit.Refused, "TRUNCATE TABLE c", hour, "the statement could not be undone", "it has foreign keys, which a copy would lack",
				"it has triggers, which would stay with the old table", "c_shadow blocks the name of an empty copy", "foreign key fd of ")
		}
		r.exec("CREATE TABLE m (id INT PRIMARY KEY) ENGINE=MyISAM", "CREATE TRIGGER h BEFORE INSERT ON m FOR EACH ROW SET NEW.id = NEW.id")
		r.says("plan", exit.Refused, "TRUNCATE TABLE m", hour, "its engine is MyISAM", "it has triggers, which would stay with the old table")
		r.exec("CREATE TABLE q (id INT PRIMARY KEY, m INT, CONSTRAINT fq FOREIGN KEY (m) REFERENCES p (id)) ENGINE=InnoDB")
		names := []string{"m_old"}
		for n := 2; n <= 9; n++ {
			names = append(names, "m_old"+string(rune('0'+n)))
		}
		for _, name := range names {
			r.exec("CREATE TABLE " + name + " (id INT)")
		}
		r.says("plan", exit.Refused, "DROP TABLE m", hour, "the statement could not be undone", "other tables have all the names", "its engine is MyISAM")
		r.exec("DROP TABLE d, c, q, p, m, c_shadow, " + strings.Join(names, ", "))
	})
}

// TestTheTriggersOfADroppedTableComeBack: a DROP with --undo puts the table aside with its triggers. Its plan says so, and so it is.
func TestTheTriggersOfADroppedTableComeBack(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "mariadb-11.8") {
		i := mysqltest.Server(t, version)
		_, database := mysqltest.Database(t, i)
		db := i.Open(t, database)
		r := &statementRig{T: t, i: i, database: database, exec: executing(t, i, database), query: func(query string) (text string) {
			if err := db.QueryRow(query).Scan(&text); err != nil {
				t.Error(err)
			}
			return text
		}}
		r.exec("CREATE TABLE c (id INT PRIMARY KEY, a INT)", "CREATE TRIGGER g BEFORE INSERT ON c FOR EACH ROW SET NEW.a = 5")
		const gone, back = "the server drops them with the table", "they are kept with the old table, and come back with the undo"
		r.says("plan", exit.Done, "DROP TABLE c", nil, "the table has 1 trigger: g", gone)
		r.says("plan", exit.Done, "DROP TABLE c", []string{"--drop-later"}, "they are kept with the old table")
		lacks(r.T, r.says("plan", exit.Done, "DROP TABLE c", []string{"--undo=1h"}, "the table has 1 trigger: g", back), gone)
		r.says("run", exit.Done, "DROP TABLE c", []string{"--undo=1h"})
		r.says("undo", exit.Done, "c", nil)
		r.exec("INSERT INTO c (id) VALUES (1)")
		if got := r.query("SELECT a FROM c"); got != "5" {
			r.Errorf("the trigger has not acted: %s", got)
		}
		r.says("undo", exit.Done, "c", []string{"--end"})
		r.exec("DROP TABLE c")
	}
}

// TestARedoSpeaksOfTheNewDefinition: the redo goes back to the definition that the change has made. Its texts do not call it the old one.
func TestARedoSpeaksOfTheNewDefinition(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		const old = "old definition"
		r.exec("CREATE TABLE w (id INT PRIMARY KEY, v VARCHAR(20), u INT)", "INSERT INTO w VALUES (1, 'x', 1)")
		r.says("run", exit.Done, "ALTER TABLE w MODIFY v VARCHAR(5), ADD UNIQUE KEY by_u (u)", []string{"--undo=1h", "--method=shadow"})
		r.says("undo", exit.Done, "w", nil)
		r.exec("INSERT INTO w VALUES (2, 'too long', 2), (3, 'y', 1)")
		lacks(r.T, r.says("undo", exit.Done, "w", []string{"--plan"}, "the new definition refuses rows too long for column v, varchar(5)",
			"the redo lists them before its lock"), old)
		for _, cold := range []string{"--cold=false", "--cold"} {
			args := append(append([]string{"undo"}, flagsTo(r.T, r.i)...), cold, r.database+".w")
			code, stdout, stderr := midstream(r.T, args...)
			if lacks(r.T, stdout+stderr, old); code != exit.Unfit {
				r.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
		}
		here := "--history-dir=" + r.TempDir()
		lacks(r.T, r.says("undo", exit.Done, "w", []string{"--park", here}, "the row with key (id=2) does not fit", "set aside in ", "w_parked: 2, with the keys (id=2), (id=3)"), old)
		_, report, _ := midstream(r.T, "report", "--format=md", here)
		contains(r.T, report, "The new definition refused rows. Copies are in ", "w_parked: 2, with the keys (id=2), (id=3)")
		lacks(r.T, report, old, "old definition refused")
		r.exec("DROP TABLE w_parked")
		r.says("undo", exit.Done, "w", []string{"--end"})
	})
}

// TestTheUndoOfATruncateSpeaksOfNoDefinition: a TRUNCATE changes none.
func TestTheUndoOfATruncateSpeaksOfNoDefinition(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.says("run", exit.Done, "TRUNCATE TABLE t", []string{"--undo=1h"})
		r.exec("INSERT INTO t (id, a) VALUES (7000, 1)")
		here := "--history-dir=" + r.TempDir()
		lacks(r.T, r.says("undo", exit.Done, "t", []string{"--park", here}, "set aside in ", "t_parked: 1, with the key (id=7000)"), "definition")
		_, report, _ := midstream(r.T, "report", "--format=md", here)
		contains(r.T, report, "Rows that were written since the TRUNCATE are kept in ", "t_parked: 1, with the key (id=7000). A redo does not bring them back.")
		lacks(r.T, report, "definition took", "definition refused")
		r.exec("DROP TABLE t_parked")
		r.says("undo", exit.Done, "t", []string{"--end"})
	})
}

// TestARunByTheServerWithoutUndoSaysHowItIsTakenBack: the server has made the change itself, and nothing was kept. The result has the
// command that leads back, and what it gives up; or the reason why none does.
func TestARunByTheServerWithoutUndoSaysHowItIsTakenBack(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		back := "midstream run 'ALTER TABLE `" + r.database + "`.`t` DROP COLUMN `c`'"
		r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN c INT", nil, "No undo was kept (--undo=24h keeps one). To take the change back: "+back+
			"; it gives up the values of column c.")
		r.says("run", exit.Done, strings.Trim(strings.TrimPrefix(back, "midstream run "), "'"), nil,
			"No undo was kept, and none is possible: the values of column c are gone then.")
		if got := r.query("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't' AND column_name = 'c'"); got != "0" {
			r.Errorf("%s columns are left", got)
		}
		lacks(r.T, r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN d INT", []string{"--undo=1h", "--method=shadow"}, "To undo it, until "), "No undo was kept")
		lacks(r.T, r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN e INT", nil, "stays open until "), "No undo was kept")
		r.says("undo", exit.Done, "t", []string{"--end"})
	})
}

// TestACheckLeavesAnUndoOpen: check swaps nothing, so it is permitted while the last change can be undone or redone, and nothing that
// the undo needs is touched. The change itself is refused.
func TestACheckLeavesAnUndoOpen(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.says("run", exit.Done, "ALTER TABLE t DROP COLUMN b", []string{"--undo=1h", "--method=shadow"})
		values := r.query("SELECT SUM(CRC32(CONCAT_WS(',', id, a, b))) FROM t_old")
		r.exec("INSERT INTO t (id, a) VALUES (7000, 300)")
		change, fits := "ALTER TABLE t MODIFY a TINYINT", "ALTER TABLE t MODIFY a BIGINT"
		for _, tables := range []string{"t,t_old,t_undo", "t,t_undo,t_undone"} {
			r.says("plan", exit.Refused, change, []string{"--method=shadow"}, "the last change of the table ", "midstream undo --end")
			r.says("check", exit.Unfit, change, nil, "out of range")
			r.says("check", exit.Done, fits, nil)
			r.says("undo", exit.Done, "t", []string{"--list", "--quiet"}, r.database+".t open ")
			r.are(tables)
			r.says("undo", exit.Done, "t", nil)
		}
		r.says("undo", exit.Done, "t", nil)
		if got := r.query("SELECT SUM(CRC32(CONCAT_WS(',', id, a, b))) FROM t WHERE id < 7000"); got != values {
			r.Errorf("the rows have changed: %s instead of %s", got, values)
		}
		if got := r.query("SELECT CONCAT(a, COALESCE(b, '-')) FROM t WHERE id = 7000"); got != "300-" {
			r.Errorf("the new row is %s", got)
		}
		r.says("undo", exit.Done, "t", []string{"--end"})
	})
}

// TestATableWithOldStatisticsHasRows: the server's statistics of a small table show no rows. The plan of a change and of a DROP, and
// cleanup, show its rows. The plan of a larger table that was just loaded shows the size of its file.
func TestATableWithOldStatisticsHasRows(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE s (id INT PRIMARY KEY, a INT) STATS_AUTO_RECALC=0", "INSERT INTO s SELECT id, 1 FROM t LIMIT 77")
		if got := r.query("SELECT n_rows FROM mysql.innodb_table_stats WHERE database_name = DATABASE() AND table_name = 's'"); got != "0" {
			r.Fatalf("the statistics show %s rows", got)
		}
		r.says("plan", exit.Done, "ALTER TABLE s ADD COLUMN c INT", nil, "about 77 rows")
		r.exec("CREATE TABLE u (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(900)) STATS_AUTO_RECALC=0", "INSERT INTO u (a) VALUES (REPEAT('x', 900))")
		for range 13 { // 8 MB; the server counts rows, and no pages
			r.exec("INSERT INTO u (a) SELECT a FROM u")
		}
		code, stdout, stderr := midstream(r.T, append(flagsTo(r.T, r.i), "plan", "--method=shadow", "ALTER TABLE "+r.database+".u ADD COLUMN c INT")...)
		if size := regexp.MustCompile(` rows, ([0-9.]+) MB`).FindStringSubmatch(strings.Join(strings.Fields(stdout), " ")); code != exit.Done || size == nil || len(size[1]) < 2 {
			r.Errorf("exit code %d, size %q\n%s\n%s", code, size, stdout, stderr)
		}
		r.says("plan", exit.Done, "DROP TABLE s", nil, "about 77 rows")
		r.says("run", exit.Done, "DROP TABLE s", []string{"--drop-later"})
		code, stdout, stderr = midstream(r.T, append(flagsTo(r.T, r.i), "cleanup", "--old", "--yes", r.database+".s")...)
		if contains(r.T, stdout+stderr, "about 77 rows"); code != exit.Done {
			r.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
		}
	})
}

// TestWhatAnUndoPrintsIsComplete: the plan has the values of --undo-fill, the list of a revoked undo has a command that works, one row
// is one row, and the help says what --hold does.
func TestWhatAnUndoPrintsIsComplete(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		_, help, _ := midstream(t, "undo", "--help")
		contains(r.T, strings.Join(strings.Fields(help), " "), "--hold follow the table, and keep the old table equal to it")
		r.exec("CREATE TABLE w (id INT PRIMARY KEY, a INT, note VARCHAR(9) NOT NULL)", "INSERT INTO w VALUES (1, 1, 'x')")
		r.says("run", exit.Done, "ALTER TABLE w DROP COLUMN note, MODIFY a BIGINT", []string{"--undo=1h", "--method=shadow"})
		r.exec("INSERT INTO w VALUES (2, 1 << 40)")
		r.says("undo", exit.Done, "w", []string{"--plan", "--undo-fill", "note=CONCAT('n', id)"}, "New rows since the swap get note=CONCAT('n', id) (--undo-fill)")
		r.says("undo", exit.Done, "w", []string{"--park", "--undo-fill", "note='n'"})
		there := r.database + ".w_parked: 1 row, which is back in " + r.database + ".w; nothing needs this table"
		r.says("undo", exit.Done, "w", nil, "Set aside: "+there)
		r.says("undo", exit.Done, "w", []string{"--list"}, "Set aside "+there, "revoked", "midstream undo --undo-fill \"note=''\" --cold "+r.database+".w")
		r.says("undo", exit.Done, "w", []string{"--end"})
		r.exec("DROP TABLE w, w_old, w_parked")
	})
}
