package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/record"
)

// statementRig is a database in which statements are run by midstream and, beside it, natively.
type statementRig struct {
	*testing.T
	i        *mysqltest.Instance
	database string
	query    func(string) string
	exec     func(...string)
}

func onEachStatementRig(t *testing.T, test func(r *statementRig)) {
	onBoth(t, func(t *testing.T, i *mysqltest.Instance) {
		name, query := table(t, i, 100)
		database := strings.TrimSuffix(name, ".t")
		test(&statementRig{T: t, i: i, database: database, query: query, exec: executing(t, i, database)})
	})
}

// tables are all tables of the database.
func (r *statementRig) tables() string {
	return r.query("SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = DATABASE()")
}

// says runs a verb and wants the exit code and what it says.
func (r *statementRig) says(verb string, code int, statement string, flags_ []string, texts ...string) (stdout string) {
	r.Helper()
	args := append(append([]string{verb, "--database=" + r.database}, flagsTo(r.T, r.i)...), flags_...)
	got, stdout, stderr := midstream(r.T, append(args, statement)...)
	if got != code {
		r.Errorf("%s %s: exit code %d instead of %d\n%s\n%s", verb, statement, got, code, stdout, stderr)
	}
	oneLine := func(text string) string { return strings.Join(strings.Fields(text), " ") } // lines are wrapped
	for _, text := range texts {
		contains(r.T, oneLine(stdout+stderr), oneLine(text))
	}
	return stdout
}

func (r *statementRig) are(tables string) {
	r.Helper()
	if got := r.tables(); got != tables {
		r.Errorf("the tables are %s, not %s", got, tables)
	}
}

// TestL8_ARedoOfARenameKeepsItsTable: an old table was given its former name, and the undo has put it aside again, with rows that were
// written meanwhile. The redo needs it.
func TestL8_ARedoOfARenameKeepsItsTable(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("DROP TABLE IF EXISTS t", "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
		r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT", []string{"--method=shadow"})
		r.says("run", exit.Done, "RENAME TABLE t TO t_bad, t_old TO t", []string{"--undo=1h"})
		r.exec("INSERT INTO t VALUES (2)")
		r.says("undo", exit.Done, "t", nil)
		r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"})
		if got := r.query("SELECT GROUP_CONCAT(id ORDER BY id) FROM t_old"); got != "1,2" {
			r.Errorf("the table put aside has the rows %s", got)
		}
		r.says("undo", exit.Done, "t", []string{"--end"})
		r.exec("DROP TABLE t, t_old")
	})
}

// TestIndexStatements: CREATE INDEX, DROP INDEX and OPTIMIZE TABLE go the way of an ALTER, and do
// what the server's own statement does.
func TestIndexStatements(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE n LIKE t")
		for _, c := range []struct{ statement, method string }{
			{"CREATE UNIQUE INDEX `u``1` USING BTREE ON t (id, b(9)) COMMENT 'a, ALGORITHM=COPY' LOCK=NONE", "inplace"},
			{"CREATE FULLTEXT INDEX f ON t (b)", "inplace"},
			{"DROP INDEX f ON t", "inplace"},
			{"CREATE INDEX d ON t (a DESC) INVISIBLE ALGORITHM=INPLACE", "inplace"},
			{"OPTIMIZE TABLE t", "inplace"},
		} {
			r.says("plan", exit.Done, c.statement, []string{"--native-max-lock=1h", "--method=inplace"}, "Method     "+strings.ToUpper(c.method)+": ")
			r.says(
				"run", exit.Done, c.statement, []string{"--native-max-lock=1h", "--method=inplace"},
				"altered "+r.database+".t",
			)
			r.exec(strings.Replace(c.statement, " t", " n", 1))
			create := func(of string) string {
				return r.query(
					"SELECT GROUP_CONCAT(index_name, column_name, non_unique, index_type, index_comment, IFNULL(collation, ''), IFNULL(sub_part, ''), is_visible ORDER BY 1) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = '" + of + "'",
				)
			}
			if mine, native := create("t"), create("n"); mine != native {
				r.Errorf("%s: %s instead of %s", c.statement, mine, native)
			}
		}
		r.says(
			"run", exit.Done, "CREATE INDEX s ON t (a)", []string{"--method=shadow", "--drop-old"},
			"altered "+r.database+".t",
		)
		r.are("n,t")
	})
}

// TestTableStatements: what is planned is told and done, as the server's own statement would, and
// nothing is left.
func TestTableStatements(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		d := r.database
		r.exec(
			"CREATE TABLE p (id INT PRIMARY KEY)",
			"CREATE TABLE c (id INT PRIMARY KEY, CONSTRAINT `f 1` FOREIGN KEY (id) REFERENCES p (id) ON DELETE CASCADE)",
			"INSERT INTO p VALUES (1), (2)", "INSERT INTO c VALUES (1), (2)", "CREATE VIEW v AS SELECT * FROM t",
			"CREATE DATABASE `"+d+"_2`",
		)
		defer r.exec("DROP DATABASE `" + d + "_2`")

		r.says(
			"plan", exit.Done, "RENAME TABLE t TO a, p TO q", nil, "Method     instant",
			"1. RENAME TABLE "+d+".t TO "+d+".a, "+d+".p TO "+d+".q", "view "+d+".v refers to",
			"foreign key f 1 of "+d+".c refers to",
		)
		r.are("c,p,t,v")
		r.says("run", exit.Done, "RENAME TABLE t TO a, p TO q", nil, "Done: RENAME TABLE")
		r.are("a,c,q,v")
		r.says("run", exit.Done, "RENAME TABLE a TO x, q TO a, x TO q", nil, "Done: RENAME TABLE") // they change names
		if got := r.query("SELECT COUNT(*) FROM q"); got != "100" {
			r.Errorf("%s rows", got)
		}
		r.says("run", exit.Done, "RENAME TABLE q TO t, a TO `"+d+"_2`.p", nil, "Done")
		r.says("run", exit.Done, "RENAME TABLE `"+d+"_2`.p TO p", nil, "Done")
		r.are("c,p,t,v")
		r.says(
			"run", exit.Refused, "RENAME TABLE t TO p, none TO n, t TO v", nil, d+".p exists",
			"no such table: "+d+".none", "v is a view",
		)
		r.says("run", exit.Refused, "RENAME TABLE t TO nowhere.t", nil, "no such database: nowhere")
		r.exec("CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1")
		r.says("run", exit.Refused, "RENAME TABLE t TO `"+d+"_2`.t", nil, "triggers can't move to another database")

		r.says("plan", exit.Done, "TRUNCATE t", nil, "the server truncates the table under the lock, because it has triggers")
		r.says("run", exit.Done, "TRUNCATE t", nil, "Done")
		if got := r.query("SELECT COUNT(*) FROM t"); got != "0" {
			r.Errorf("%s rows", got)
		}
		r.says("run", exit.Refused, "TRUNCATE p", nil, "foreign key f 1 of "+d+".c refers to the table")
		r.says("run", exit.Refused, "DROP TABLE p", nil, "the server drops no table that another table refers to", "DROP FOREIGN KEY `f 1`")
		r.says(
			"run", exit.Done, "DROP TABLE c", []string{"--drop-later"}, "without its 1 foreign key",
			"Old table kept: "+d+".c_old. To drop it: midstream cleanup --old "+d+".c",
		)
		r.are("c_old,p,t,v")
		r.exec("DELETE FROM p WHERE id = 1") // no foreign key of the old table keeps it, or goes on
		if got := r.query("SELECT COUNT(*) FROM c_old"); got != "2" {
			r.Errorf("%s rows", got)
		}
		code, stdout, stderr := midstream(r.T, append([]string{"cleanup", "--yes", d + ".c"}, flagsTo(r.T, r.i)...)...)
		if code != exit.Refused || r.tables() != "c_old,p,t,v" {
			r.Errorf("cleanup without --old: exit code %d\n%s\n%s", code, stdout, stderr)
		}
		code, stdout, stderr = midstream(r.T, append([]string{"cleanup", "--old", "--yes", d + ".c"}, flagsTo(r.T, r.i)...)...)
		if code != exit.Done {
			r.Errorf("cleanup: exit code %d\n%s\n%s", code, stdout, stderr)
		}
		contains(r.T, stdout, "the table that a DROP set aside")
		r.says("run", exit.Done, "DROP TABLE p", nil, "Done: DROP TABLE of "+d+".p in")
		r.says("run", exit.Done, "DROP TABLE IF EXISTS p", nil, "none: there is no such table")
		r.says("run", exit.Refused, "DROP TABLE p", nil, "no such table")
		r.says("run", exit.Refused, "DROP TABLE v", nil, d+".v is a view")
		r.are("t,v")
	})
}

// TestTruncateByASwap: the empty table is the same in all but the counter, and the rows are gone.
func TestTruncateByASwap(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		body := " (id INT AUTO_INCREMENT PRIMARY KEY, n INT, s VARCHAR(20) CHARSET latin1 COMMENT 'it''s', g INT AS (LENGTH(s) * 2) VIRTUAL, KEY (s), CHECK (n > 0)) ROW_FORMAT=COMPRESSED COMMENT='all of ''it'''"
		for _, kind := range []string{body, body + " PARTITION BY HASH (id) PARTITIONS 3"} {
			r.exec(
				"CREATE TABLE w"+kind, "CREATE TABLE n"+kind, "INSERT INTO w (s) VALUES ('x'), ('y')",
				"INSERT INTO n (s) VALUES ('x'), ('y')",
			)
			r.says(
				"plan", exit.Done, "TRUNCATE TABLE w", nil, "an empty table takes its place",
				"w_shadow is created, empty", "w_old is dropped",
			)
			r.are("n,t,w")
			r.says("run", exit.Done, "TRUNCATE TABLE w", nil, "Done: TRUNCATE TABLE")
			r.exec("TRUNCATE TABLE n")
			mine, native := r.query("SELECT COUNT(*) FROM w"), "0"
			if mine != native {
				r.Errorf("%s rows", mine)
			}
			r.are("n,t,w")
			if mine, native := showCreate(r, "w"), showCreate(r, "n"); mine != native {
				r.Errorf("%s\ninstead of\n%s", mine, native)
			}
			r.says("run", exit.Done, "TRUNCATE TABLE w", []string{"--drop-later"}, "w_old is kept")
			r.are("n,t,w,w_old")
			code, stdout, stderr := midstream(r.T, append([]string{"cleanup", "--old", "--yes", r.database + ".w"}, flagsTo(r.T, r.i)...)...)
			if code != exit.Done || !strings.Contains(stdout, "its comment was: all of 'it'") {
				r.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
			r.exec("DROP TABLE w, n")
		}
		r.exec("CREATE TABLE k (id INT PRIMARY KEY, CONSTRAINT positive CHECK (id > 0))", "INSERT INTO k VALUES (1)")
		named := "an empty copy would not be the same"
		if !strings.Contains(showCreate(r, "k"), "CHECK") {
			named = "an empty table takes its place" // before 8.0.16 there are none
		}
		r.says("run", exit.Done, "TRUNCATE TABLE k", nil, named)
		r.exec("DROP TABLE k")
	})
}

func showCreate(r *statementRig, table string) string {
	r.Helper()
	db := r.i.Open(r.T, r.database)
	var name, create string
	if err := db.QueryRowContext(r.Context(), "SHOW CREATE TABLE `"+table+"`").Scan(&name, &create); err != nil {
		r.Fatal(err)
	}
	return strings.ReplaceAll(create, "`"+table+"_chk", "`x_chk")[len("CREATE TABLE `")+len(table):]
}

// TestCreateTable: a table that is there is compared, and never changed.
func TestCreateTable(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE p (id INT PRIMARY KEY)")
		definition := "(id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(20) DEFAULT 'a`b', p INT, CHECK (p > 0), CONSTRAINT c_s CHECK (s <> 'x'), CONSTRAINT f_p FOREIGN KEY (p) REFERENCES p (id)) COMMENT 'x'"
		create := "CREATE TABLE `c t` " + definition
		r.says("plan", exit.Done, create, nil, "Method     instant: the table does not exist")
		r.are("p,t")
		r.says("run", exit.Done, create, nil, "Done: CREATE TABLE")
		r.are("c t,p,t")
		r.exec("INSERT INTO `c t` (s) VALUES ('a')")
		for _, statement := range []string{create, "CREATE TABLE IF NOT EXISTS `c t` " + strings.ToLower(definition)} {
			r.says("run", exit.Done, statement, nil, "Nothing to do: ", "Done: nothing was to be done")
		}
		other := strings.Replace(create, "VARCHAR(20)", "VARCHAR(21)", 1)
		r.says(
			"run",
			exit.Refused,
			other,
			nil,
			"the table exists with another definition: it has `s` varchar(20) DEFAULT 'a`b', and not `s` varchar(21)",
			"Change it by an ALTER",
		)
		r.says(
			"run", exit.Done, strings.Replace(other, "TABLE", "TABLE IF NOT EXISTS", 1), nil,
			"Nothing to do: the table exists", "the table has another definition",
		)
		r.says("run", exit.Done, "CREATE TABLE l LIKE p", nil, "Done")
		r.says("run", exit.Done, "CREATE TABLE l (LIKE p)", nil, "Nothing to do: ")
		r.says("run", exit.Refused, "CREATE TABLE l LIKE t", nil, "another definition")
		r.says("run", exit.Refused, "CREATE TABLE bad (a NOTYPE)", nil, "the server refuses the statement", "left:")
		r.says("run", exit.WrongUsage, "CREATE TABLE x SELECT 1", nil, "CREATE TABLE ... SELECT")
		r.says("check", exit.WrongUsage, create, nil, "cannot check a CREATE TABLE")
		r.are("c t,l,p,t")
		r.exec("DROP TABLE `c t`, l, p")
	})
}

// TestTableStatementInJSON: the plan has what it does, and the lines are those of any run.
func TestTableStatementInJSON(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 10)
	code, stdout, stderr := midstream(t, append([]string{"run", "--json", "DROP TABLE " + name}, flagsTo(t, i)...)...)
	if code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	var plan record.Plan
	if err := decoder.Decode(&plan); err != nil {
		t.Fatal(err)
	}
	if plan.Statement != "DROP TABLE" || plan.Method != "instant" || plan.Table != name || plan.Old != name+"_old" ||
		len(plan.Steps) != 2 ||
		len(plan.Locks) != 1 ||
		plan.RowsEstimate == 0 {
		t.Errorf("%+v", plan)
	}
	contains(t, stdout, `"outcome":"done"`, `"event":"lock_attempt"`)
	if got := query("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "0" {
		t.Errorf("%s tables", got)
	}
}

// TestCtrlCWhileATableIsHeld: the statement is withdrawn, nothing has happened, and nothing is left;
// that is told.
func TestCtrlCWhileATableIsHeld(t *testing.T) {
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 10)
	blocker, err := i.Open(t, "").BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Rollback()
	if _, err := blocker.Exec("UPDATE " + name + " SET a = 0"); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"DROP TABLE ", "TRUNCATE TABLE "} {
		r := start(t, command(t, append([]string{"run", statement + name}, flagsTo(t, i)...)...))
		r.await(&r.stdout, "BLOCKED ")
		r.interrupt()
		if code := r.exit(); code != exit.Aborted {
			t.Errorf("%s: exit code %d\n%s\n%s", statement, code, &r.stdout, &r.stderr)
		}
		contains(
			t, strings.Join(strings.Fields(r.stderr.String()), " "), "aborted in phase native",
			"left: "+name+" is untouched, and nothing is left on the server",
		)
		if got := query("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "t" {
			t.Errorf("%s: the tables are %s", statement, got)
		}
	}
}

// TestStatementsOfASmallAccount: one that may drop a table and not rename it has it dropped under the
// lock, and truncated.
func TestStatementsOfASmallAccount(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		user := "small_" + r.database[len(r.database)-8:]
		r.exec(
			"CREATE USER "+user+" IDENTIFIED WITH caching_sha2_password BY 'x y'",
			"GRANT SELECT ON performance_schema.* TO "+user, "GRANT SELECT, DROP ON `"+r.database+"`.* TO "+user,
		)
		defer r.exec("DROP USER " + user)
		account := []string{"--user=" + user, "--password=x y", "--ssl-mode=PREFERRED"}
		r.says("run", exit.Done, "TRUNCATE t", account, "under the lock, because the account lacks ALTER, CREATE, INSERT", "Done: TRUNCATE TABLE")
		if got := r.query("SELECT COUNT(*) FROM t"); got != "0" {
			r.Errorf("%s rows", got)
		}
		r.says("run", exit.Refused, "RENAME TABLE t TO u", account, "lacks ALTER on", "lacks CREATE, INSERT on")
		r.says("run", exit.Done, "DROP TABLE t", account, "under the lock, because the account lacks ALTER", "Done: DROP TABLE")
		if got := r.query("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "0" {
			r.Errorf("%s tables", got)
		}
	})
}

// TestL9_AStatementOnManyFilesIsRefusedByThePlan: the server works on a partitioned table file by
// file, and holds up its queries meanwhile. Who allows that gets it; a DROP, after which there is
// no table to wait for, is warned of.
func TestL9_AStatementOnManyFilesIsRefusedByThePlan(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE many (id INT PRIMARY KEY) PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 50" +
			" (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN MAXVALUE)")
		for _, c := range []struct{ statement, files string }{{"RENAME TABLE many TO much", "100 files"}, {"TRUNCATE many", "200 files"}} {
			r.says("run", exit.Refused, c.statement, []string{"--native-max-lock=1ms"}, "works on "+c.files, "--native-max-lock=")
			r.are("many,t")
		}
		r.says("plan", exit.Done, "RENAME TABLE many TO much", []string{"--native-max-lock=1h"}, "for the work on 100 files")
		r.says("run", exit.Done, "TRUNCATE many", []string{"--native-max-lock=1h"}, "Done")
		r.says("run", exit.Done, "RENAME TABLE many TO much", []string{"--native-max-lock=1h"}, "Done")
		r.says("run", exit.Done, "DROP TABLE much", []string{"--native-max-lock=1ms", "--drop-old"}, "works on 100 files", "Done")
		r.are("t")
	})
}

// TestL9_AnOnlineStatementOnManyFiles: the server's own online statement works on the files of all
// partitions at its beginning and its end, while nobody can use the table. The plan says for how
// long, and takes another way if that is longer than it may be.
func TestL9_AnOnlineStatementOnManyFiles(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE many (id INT PRIMARY KEY, v INT) PARTITION BY HASH (id) PARTITIONS 60")
		r.says("plan", exit.Done, "ALTER TABLE many ADD INDEX (v)", []string{"--native-max-lock=1ms", "--lock-work=30s", "--verbose"},
			"copy to a new table", "the server works on the files of all partitions", "files are renamed in about")
		r.says(
			"plan", exit.Done, "ALTER TABLE many ADD INDEX (v)", []string{"--native-max-lock=1h", "--verbose"}, "INPLACE: ",
			"as the table has many partitions",
		)
		r.says("plan", exit.Done, "ALTER TABLE many ADD COLUMN w INT", []string{"--verbose"}, "INSTANT: ", "as the table has many partitions")
		r.says(
			"plan", exit.Refused, "ALTER TABLE many ADD INDEX (v)",
			[]string{"--native-max-lock=1ms", "--lock-work=10ms"}, "the swap renames 120 files",
		)
		r.are("many,t")
	})
}
