package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// TestSeveralTablesAreChangedTogether: plan and run take several statements, name each table in what they print, and name everything that
// is wrong with the command line at once.
func TestSeveralTablesAreChangedTogether(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 100)
	database := strings.TrimSuffix(name, ".t")
	exec := executing(t, i, database)
	exec("CREATE TABLE u (id INT NOT NULL PRIMARY KEY)")
	r := &statementRig{T: t, i: i, database: database, query: query, exec: exec}
	both := "ALTER TABLE t ADD COLUMN n INT; ALTER TABLE `u` ADD COLUMN `a;b` INT COMMENT ';'"
	together := []string{"--together"}

	r.says("run", exit.WrongUsage, "ALTER TABLE t ADD COLUMN n INT", append(together, "--key=x", "--method=shadow", "--undo=1h", "--undo-mode=warm"),
		"--together needs several statements", "--together and --method exclude each other", "--together excludes --undo-mode=warm: no process follows",
		"--key x: it does not name its table: with --together, begin with the table")
	r.says("run", exit.WrongUsage, both+"; ALTER TABLE t ADD COLUMN m INT; DROP TABLE v", together,
		database+".t is altered twice", "--together takes ALTER TABLE only, and not DROP TABLE")
	r.says("plan", exit.WrongUsage, both, append(together, "--keep=v: id > 1"), database+".v is not among the tables that are changed together")
	r.says("plan", exit.Done, both, append(together, "--keep=u: id > 1", "--set=t: n=1", "--old-name=u: before"),
		"only those with id > 1", database+".before", "Values of column n: 1")
	r.says("plan", exit.Done, both, together, database+".t on ", database+".u on ", "Together", "swapped in one step with "+database+".u", "not kept (--undo=24h keeps it)")
	r.are("t,u")
	r.says("run", exit.Refused, "ALTER TABLE t ADD COLUMN id INT; ALTER TABLE u ADD COLUMN n INT", together, "cannot change "+database+".t: 1 problem", "the table already has that name")
	r.says("plan", exit.Refused, "ALTER TABLE t DROP COLUMN no; ALTER TABLE u DROP COLUMN no", together, database+".t, "+database+".u")
	r.are("t,u")

	r.exec("ALTER TABLE u ADD COLUMN v INT", "INSERT INTO u VALUES (1, 1000)")
	r.says("check", exit.Unfit, "ALTER TABLE t ADD COLUMN n INT; ALTER TABLE u MODIFY v TINYINT", together, database+".u unfit: 1 row out of range")
	r.are("t,u")

	out := r.says("run", exit.Done, both, append(together, "--json"), `{"table":"`+database+`.u","event":"swapped"`, `"state":"changed"`)
	for _, table := range []string{"t", "u"} {
		contains(t, out, fmt.Sprintf(`{"table":"%s.%s","place":"","state":"changed","method":"shadow","old":"%[1]s.%[2]s_old"`, database, table))
	}
	r.are("t,t_old,u,u_old")
	if out = r.says("run", exit.Done, strings.ReplaceAll(strings.ReplaceAll(both, "n INT", "q INT"), "a;b", "d"), append(together, "--quiet", "--drop-old")); strings.Contains(out, "ready for the swap") {
		t.Errorf("with --quiet: %s", out)
	}
	out = r.says("run", exit.Done, strings.ReplaceAll(strings.ReplaceAll(both, "n INT", "m INT"), "a;b", "c"), together)
	for _, table := range []string{"t", "u"} {
		contains(t, out, database+"."+table+"  5/5 cut over  locked for")
	}
}

// TestL1_TwoSpellingsOfATableAreNoGroup: a server that ignores the case of names has one table, and two runs would work on it.
func TestL1_TwoSpellingsOfATableAreNoGroup(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Own(t, "9.7", sandbox.Options{Settings: map[string]string{"lower_case_table_names": "1"}})
	name, query := table(t, i, 10)
	database := strings.TrimSuffix(name, ".t")
	r := &statementRig{T: t, i: i, database: database, query: query, exec: executing(t, i, database)}
	for _, verb := range []string{"plan", "run"} {
		r.says(verb, exit.WrongUsage, "ALTER TABLE t ADD COLUMN n INT; ALTER TABLE T ADD COLUMN m INT", []string{"--together"},
			database+".t and "+database+".T are one table on this server")
	}
	r.are("t")
}

// TestTheTablesOfFilesAreChangedTogether: plan, check and run --to --together make a group of the tables that need an ALTER. A table that
// is alone is changed as without --together.
func TestTheTablesOfFilesAreChangedTogether(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 100)
	database := strings.TrimSuffix(name, ".t")
	exec := executing(t, i, database)
	exec("CREATE TABLE u (id INT NOT NULL PRIMARY KEY)", "CREATE TABLE same (id INT NOT NULL PRIMARY KEY)", "INSERT INTO u VALUES (1), (2)")
	does := func(verb string, code int, texts map[string]string, more []string, says ...string) string {
		t.Helper()
		args := append(append([]string{verb, "--together", "--database=" + database, "--to=" + files(t, texts)}, flagsTo(t, i)...), more...)
		got, stdout, stderr := midstream(t, args...)
		if got != code {
			t.Errorf("%s: exit code %d instead of %d\n%s\n%s", verb, got, code, stdout, stderr)
		}
		text := strings.Join(strings.Fields(stdout+stderr), " ")
		for _, want := range says {
			contains(t, text, want)
		}
		return text
	}
	texts := map[string]string{
		"t.sql": wanted("b VARCHAR(200), n INT") + ";", "u.sql": "CREATE TABLE u (id INT NOT NULL PRIMARY KEY, m INT);",
		"same.sql": "CREATE TABLE same (id INT NOT NULL PRIMARY KEY);", "new.sql": "CREATE TABLE fresh (id INT PRIMARY KEY);",
	}
	does("plan", exit.WrongUsage, texts, []string{"--keep=id > 1", "--method=shadow"}, "it does not name its table", "--together and --method exclude each other")
	does("plan", exit.WrongUsage, texts, []string{"--old-name=missing: x"}, database+".missing is not among the tables")
	does("plan", exit.Done, texts, []string{"--keep=u: id > 1", "--set=t: n=a", "--keep=same: id > 7"}, "swapped in one step with "+database+".u",
		"swapped in one step with "+database+".t", "only those with id > 1", "Values of column n: a", "--keep has no effect on "+database+".same",
		database+".fresh", "create: there is no such table", "4 tables: 3 to be changed or created, 1 with this definition already")
	does("check", exit.Done, texts, []string{"--json"}, `"table":"`+database+`.u","place":"`, `"state":"checked"`)
	if got := query(allTables); got != "same,t,u" {
		t.Errorf("the tables are %s", got)
	}
	exec("INSERT INTO t (a, b) VALUES (1, REPEAT('x', 100))")
	short := map[string]string{"t.sql": wanted("b VARCHAR(50), n INT") + ";", "u.sql": texts["u.sql"], "new.sql": texts["new.sql"]}
	does("run", exit.Unfit, short, []string{"--json"}, `"object":"`+database+`.t"`, `"state":"created"`, `"state":"failed"`, `"state":"waiting"`)
	if got := query(allTables); got != "fresh,same,t,u" {
		t.Errorf("the tables are %s", got)
	}
	text := does("run", exit.Done, texts, []string{"--keep=u: id > 1"}, "4 tables: 2 changed, 2 with this definition already")
	if got := query("SELECT CONCAT(COUNT(*), ' ', MIN(id)) FROM u"); got != "1 2" {
		t.Errorf("u has %s: %s", got, text)
	}
	does("run", exit.Done, texts, []string{"--keep=u: id > 1"}, "4 tables: 4 with this definition already")

	texts["t.sql"] = wanted("b VARCHAR(200), n INT, o INT") + ";"
	if text := does("run", exit.Done, texts, nil, "INSTANT"); strings.Contains(text, "swapped in one step") {
		t.Errorf("a table alone: %s", text)
	}
}

// TestThePlanOfAGroupHasTheSumOfTheSwap: the plan names the tables that the one swap locks, and the statements under the lock. If the sum
// exceeds --lock-work, it is refused before anything is written, also for files; a rehearsal, which swaps nothing, is not.
func TestThePlanOfAGroupHasTheSumOfTheSwap(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 10)
	database := strings.TrimSuffix(name, ".t")
	exec := executing(t, i, database)
	exec("CREATE TABLE p (id INT NOT NULL PRIMARY KEY)", "CREATE TABLE u (id INT NOT NULL PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id))",
		"CREATE TRIGGER one BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1", "CREATE TRIGGER two BEFORE INSERT ON u FOR EACH ROW SET NEW.p = NULL")
	r := &statementRig{T: t, i: i, database: database, query: query, exec: exec}
	both, together := "ALTER TABLE t ADD COLUMN n INT; ALTER TABLE u ADD COLUMN n INT", []string{"--together"}
	sum := "4 files are renamed, and 11 statements change foreign keys and triggers: that takes about 110 ms (assumed), and --lock-work allows "

	out := r.says("plan", exit.Done, both, together, "One swap of 2 tables: "+database+".t, "+database+".u",
		"all of them, and the tables at the other ends of foreign keys: "+database+".p", sum+"250 ms")
	if strings.Count(out, "One swap of") != 1 {
		t.Errorf("the sum is printed again:\n%s", out)
	}
	short := append(together, "--lock-work=100ms")
	for _, verb := range []string{"plan", "run"} {
		r.says(verb, exit.Refused, both, short, "in the one swap of 2 tables, "+sum+"100 ms", "--lock-work=300ms")
	}
	to := "--to=" + files(t, map[string]string{"t.sql": wanted("b VARCHAR(200), n INT") + ";",
		"u.sql": "CREATE TABLE u (id INT NOT NULL PRIMARY KEY, p INT, n INT, FOREIGN KEY (p) REFERENCES p (id));",
		"p.sql": "CREATE TABLE p (id INT NOT NULL PRIMARY KEY);", "new.sql": "CREATE TABLE fresh (id INT PRIMARY KEY);"})
	code, _, stderr := midstream(t, append([]string{"run", "--together", "--lock-work=100ms", "--database=" + database, to}, flagsTo(t, i)...)...)
	if code != exit.Refused {
		t.Errorf("--to: exit code %d\n%s", code, stderr)
	}
	contains(t, strings.Join(strings.Fields(stderr), " "), "in the one swap of 2 tables")
	r.are("p,t,u")
	r.says("run", exit.Done, both, append(short, "--rehearse"), sum+"100 ms")
	r.are("p,t,u")
	r.says("run", exit.Done, both, append(together, "--lock-work=2s"), sum+"2.0 s")
	r.are("p,t,t_old,u,u_old")
}

// TestAGroupHasOneReport: a run on two tables writes one report, with the swap once and the figures of both tables. midstream report has
// the same, whichever table is named. The result file has both tables, too.
func TestAGroupHasOneReport(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 20)
	database := strings.TrimSuffix(name, ".t")
	exec := executing(t, i, database)
	exec("CREATE TABLE u (id INT NOT NULL PRIMARY KEY)", "INSERT INTO u VALUES (1), (2), (3)")
	r := &statementRig{T: t, i: i, database: database, query: query, exec: exec}
	for _, rehearses := range []bool{true, false} {
		folder := t.TempDir()
		file := filepath.Join(folder, "result")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		history, lock, more := "--history-dir="+folder, "All tables were swapped in one step: 1 attempt, held for", []string{}
		if rehearses {
			lock, more = "The lock of all tables was rehearsed: 1 attempt, held for", []string{"--rehearse-lock"}
		}
		out := r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT; ALTER TABLE u ADD COLUMN n INT", append(more, "--together", history, "--result-file="+file))
		pages, _ := filepath.Glob(filepath.Join(folder, "*.html"))
		if len(pages) != 1 || strings.Count(out, "report ") != 1 {
			t.Fatalf("the reports are %v:\n%s", pages, out)
		}
		result, _ := os.ReadFile(file)
		contains(t, string(result), `"table":"`+database+`.t"`, `"table":"`+database+`.u"`, `"rows_copied":23`, `"attempts":1,`)
		page, _ := os.ReadFile(pages[0])
		contains(t, string(page), lock, database+".t, "+database+".u", "<td class=\"number\">20</td>", "<td class=\"number\">3</td>")
		for _, named := range []string{"t", "u"} {
			code, md, stderr := midstream(t, "report", "--format=md", history, database+"."+named)
			if code != exit.Done {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			contains(t, md, "# "+database+".t, "+database+".u: ", lock, "# "+database+".t: ", "# "+database+".u: ")
			if strings.Count(md, "held for") != 1 {
				t.Errorf("the swap is there again:\n%s", md)
			}
			_, text, _ := midstream(t, "report", "--format=json", history, database+"."+named)
			contains(t, text, `"together": [`, `"lock": "`+lock)
		}
	}
}
