package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestL11_EveryVerbRefusesWhatTheServerCannotRead: with exit code 11 and the server's words, and nothing was written.
func TestL11_EveryVerbRefusesWhatTheServerCannotRead(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 10)
	database, _, _ := strings.Cut(name, ".")
	for clauses, words := range map[string]string{
		"AD q INT": "near 'AD q INT'", "ADD q NOSUCHTYPE": "near 'NOSUCHTYPE'", "MODIFY b VARCHAR(200) COLLATE nosuch": "Unknown collation",
	} {
		for _, command := range [][]string{
			{"plan"}, {"plan", "--method=shadow"}, {"check"}, {"run"}, {"run", "--method=shadow"}, {"run", "--rehearse"},
		} {
			code, stdout, stderr := midstream(t, append(append(flagsTo(t, i), command...), "ALTER TABLE "+name+" "+clauses)...)
			if code != exit.Refused || !strings.Contains(stderr, words) {
				t.Errorf("%v of %s: exit code %d\n%s\n%s", command, clauses, code, stdout, stderr)
			}
		}
	}
	for _, statement := range []string{"CREATE TABLE " + database + ".u (id INT PRIMARY KEY, q NOSUCHTYPE)", "CREATE INDEX i ON " + name + " (a) FOO"} {
		for _, verb := range []string{"plan", "run"} {
			code, stdout, stderr := midstream(t, append(flagsTo(t, i), verb, statement)...)
			if code != exit.Refused || !strings.Contains(stderr, "near '") {
				t.Errorf("%s of %s: exit code %d\n%s\n%s", verb, statement, code, stdout, stderr)
			}
		}
	}
	if got := query(allTables); got != "t" {
		t.Errorf("the tables are %s", got)
	}
}

// TestL11_EveryStatementIsReadAsTheServerReadsIt: names in double quotes, backslashes and comments
// for other versions, in each kind of statement and in the files of --to.
func TestL11_EveryStatementIsReadAsTheServerReadsIt(t *testing.T) {
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 10)
	database, _, _ := strings.Cut(name, ".")
	exec := executing(t, i, database)
	usual := query("SELECT @@GLOBAL.sql_mode")
	exec("SET GLOBAL sql_mode = '" + usual + ",ANSI_QUOTES,NO_BACKSLASH_ESCAPES'")
	t.Cleanup(func() { i.Open(t, database).Exec("SET GLOBAL sql_mode = '" + usual + "'") })
	run := func(args ...string) {
		t.Helper()
		if code, stdout, stderr := midstream(
			t,
			append(flagsTo(t, i), append([]string{"run", "--database=" + database}, args...)...)...); code != exit.Done {
			t.Fatalf("%v: exit code %d\n%s\n%s", args, code, stdout, stderr)
		}
	}
	is := func(want, question string) {
		t.Helper()
		if got := query(question); got != want {
			t.Errorf("%s: %s, and not %s", question, got, want)
		}
	}
	run(`CREATE INDEX "i""1" ON "t" ("a") COMMENT 'x\' /*!99999 , ("b") */`)
	is(
		`i"1 x\`,
		"SELECT CONCAT(index_name, ' ', index_comment) FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name LIKE 'i%'",
	)
	run("--table=t", `--alter=CHANGE "a" "c" INT COMMENT 'y\' /*!99999 , DROP "b" */`, "--drop-old")
	is(`y\`, "SELECT column_comment FROM information_schema.columns WHERE table_schema = DATABASE() AND column_name = 'c'")
	run(`DROP INDEX "i""1" ON "` + database + `"."t" -- ;`)
	run(`CREATE TABLE "u" (id INT PRIMARY KEY, "v" VARCHAR(9) DEFAULT 'z\' COMMENT '\' /*!99999 , w INT */)`)
	is(
		"id,v",
		"SELECT GROUP_CONCAT(column_name ORDER BY 1) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'u'",
	)
	is(`z\`, "SELECT column_default FROM information_schema.columns WHERE table_schema = DATABASE() AND column_name = 'v'")
	run(`RENAME TABLE "u" TO "v w"`)
	run(`TRUNCATE "v w"`, "--drop-old")
	run(`DROP TABLE /*!99999 t, */ "v w"`, "--drop-old")
	is("t", allTables)

	file := filepath.Join(t.TempDir(), "t.sql")
	definition := `CREATE TABLE "t" ("id" INT NOT NULL AUTO_INCREMENT, "c" INT COMMENT 'p\', "b" VARCHAR(200), /*!99999 "n" INT, */ PRIMARY KEY ("id"), KEY "a" ("c"))`
	if err := os.WriteFile(file, []byte(definition), 0o600); err != nil {
		t.Fatal(err)
	}
	run("--to="+file, "--drop-old")
	is(`p\`, "SELECT column_comment FROM information_schema.columns WHERE table_schema = DATABASE() AND column_name = 'c'")
	is("10", "SELECT COUNT(*) FROM t")
}

// TestL11_TheDropInsReadAsTheServerReads: the two drop-in commands pair the columns that the server
// pairs, and refuse what it refuses.
func TestL11_TheDropInsReadAsTheServerReads(t *testing.T) {
	i := mysqltest.Server(t, "mariadb-10.11")
	name, query := table(t, i, 10)
	database, _, _ := strings.Cut(name, ".")
	exec := executing(t, i, database)
	usual := query("SELECT @@GLOBAL.sql_mode")
	exec("SET GLOBAL sql_mode = '" + usual + ",ANSI_QUOTES'")
	t.Cleanup(func() { i.Open(t, database).Exec("SET GLOBAL sql_mode = '" + usual + "'") })
	host, port, _ := strings.Cut(i.Address, ":")
	account := []string{"--host=" + host, "--port=" + port, "--user=" + i.User, "--password=" + i.Password}
	osc := append([]string{ptoscName}, account...)
	gh := append([]string{ghostName, "--database=" + database, "--table=t", "--allow-on-master", "--initially-drop-old-table"}, account...)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{append(osc, "--execute", `--alter=DROP "b", ADD "b" INT DEFAULT 9 /*!80000 , ADD e INT */`, "D="+database+",t=t"), 0, ""},
		{append(gh, "--execute", `--alter=DROP "a", ADD "a" INT DEFAULT 7 /*!80000 , ADD e INT */`), 0, ""},
		{append(osc, "--execute", "--alter=AD q INT", "D="+database+",t=t"), 11, "near 'q INT'"},
		{append(gh, "--execute", "--alter=AD q INT"), 1, "near 'q INT'"},
		{append(gh, "--execute", `--alter=CHANGE "a" "x" INT`), 1, "approve-renamed-columns"},
	} {
		code, stdout, stderr := midstream(t, c.args...)
		if code != c.code || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%v: exit code %d\n%s\n%s", c.args, code, stdout, stderr)
		}
	}
	if got := query("SELECT CONCAT(COUNT(*), ' ', MIN(a), MAX(a), MIN(b), MAX(b)) FROM t"); got != "10 7799" {
		t.Errorf("the rows are %s", got)
	}
}
