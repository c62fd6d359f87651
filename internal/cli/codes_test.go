package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestL9_ABusyTableHasItsOwnCode: who finds another run at work ends with 20, whatever the verb, and --wait-for-other waits for the end
// of that run.
func TestL9_ABusyTableHasItsOwnCode(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 500)
	folder := filepath.Join(t.TempDir(), "run")
	with := func(args ...string) []string { return append(args, flagsTo(t, i)...) }
	alter := "ALTER TABLE " + name + " ADD COLUMN c INT"
	first := start(t, command(t, with("run", "--method=shadow", "--hold", "--drop-old", "--control-dir="+folder, alter)...))
	first.await(&first.stdout, "on hold: ")
	for _, args := range [][]string{
		{"run", alter}, {"run", "ALTER TABLE " + name + " ADD COLUMN d INT"}, {"plan", alter}, {"run", "--wait-for-other=2s", alter},
		{"cleanup", "--yes", name}, {"run", "DROP TABLE " + name}, {"run", "TRUNCATE TABLE " + name},
	} {
		code, stdout, stderr := midstream(t, with(args...)...)
		if code != exit.Busy {
			t.Errorf("%q: exit code %d\n%s\n%s", args, code, stdout, stderr)
		}
		if waits := strings.Contains(stdout+stderr, "no other run of midstream works on"); waits != (args[1] == "--wait-for-other=2s") {
			t.Errorf("%q: waits %t\n%s\n%s", args, waits, stdout, stderr)
		}
	}
	second := start(t, command(t, with("run", "--wait-for-other=1m", "--drop-old", "--method=shadow",
		"ALTER TABLE "+name+" ADD COLUMN d INT")...))
	second.await(&second.stderr, "no other run of midstream works on "+name)
	if code, stdout, stderr := midstream(t, "cutover", "--control-dir="+folder, name); code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	for _, r := range []*running{first, second} {
		if code := r.exit(); code != exit.Done {
			t.Errorf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
		}
	}
	if got := query(columns); got != "id,a,b,c,d" {
		t.Errorf("columns %s", got)
	}
}

// TestPlanHasAnExitCodeForADifference: plan --exit-code ends with 0, 2 or 11, in the record as well, and without the flag with 0 or 11.
func TestPlanHasAnExitCodeForADifference(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 10)
	database, _, _ := strings.Cut(name, ".")
	for _, c := range []struct {
		more             string
		plain, told      int
		outcome, because string
	}{
		{"b VARCHAR(200), KEY (a)", exit.Done, exit.Done, "done", ""},
		{"b VARCHAR(200), KEY (a), d INT", exit.Done, exit.Differs, "differs", "the files of --to differ from the server in 1 of 1 table"},
		{"b VARCHAR(200), KEY (a), d INT AS (nosuch) STORED", exit.Refused, exit.Refused, "refused", "nosuch"},
	} {
		folder := files(t, map[string]string{"t.sql": wanted(c.more)})
		args := append([]string{"plan", "--database=" + database, "--to=" + folder}, flagsTo(t, i)...)
		code, stdout, stderr := midstream(t, args...)
		if code != c.plain {
			t.Errorf("%s: exit code %d\n%s\n%s", c.more, code, stdout, stderr)
		}
		if c.told == exit.Differs && !strings.Contains(stdout, "Statement  ALTER TABLE") {
			t.Errorf("the plan does not show the statement that it found:\n%s", stdout)
		}
		code, stdout, stderr = midstream(t, append(args, "--exit-code", "--json")...)
		if _, result, _ := records(t, stdout); code != c.told || result.Outcome != c.outcome || result.ExitCode != code {
			t.Errorf("%s: exit code %d, %+v\n%s", c.more, code, result, stderr)
		}
		if !strings.Contains(stderr, c.because) {
			t.Errorf("%s: %s", c.more, stderr)
		}
	}
	code, _, stderr := midstream(t, append([]string{"plan", "--exit-code", "ALTER TABLE " + name + " ADD COLUMN c INT"}, flagsTo(t, i)...)...)
	if code != exit.WrongUsage || !strings.Contains(stderr, "--exit-code needs --to") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// TestL4_FilesLoseNothingUnasked: a column that a file does not have, or a type that changes values, is refused with the code loss until
// --allow-loss permits it. An ALTER that says so needs no more words.
func TestL4_FilesLoseNothingUnasked(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	for name, want := range map[string]struct{ definition, lost, columns string }{
		"a dropped column": {"CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT, KEY (a))", "column b and its values are dropped", "id,a"},
		"a type that cuts": {"CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a FLOAT, b VARCHAR(200), KEY (a))", "may change values of column a", "id,a,b"},
	} {
		table, query := table(t, i, 20)
		database, _, _ := strings.Cut(table, ".")
		folder := files(t, map[string]string{"t.sql": want.definition})
		for _, verb := range []string{"plan", "run"} {
			args := append([]string{verb, "--json", "--database=" + database, "--to=" + folder}, flagsTo(t, i)...)
			code, stdout, stderr := midstream(t, args...)
			_, result, _ := records(t, stdout)
			if code != exit.Refused || len(result.Problems) != 1 || result.Problems[0].Code != "loss" {
				t.Errorf("%s: %s: exit code %d, %+v", name, verb, code, result.Problems)
			}
			contains(t, stderr, want.lost, "--allow-loss")
			if code, _, stderr := midstream(t, append(args, "--allow-loss", "--drop-old")...); code != exit.Done {
				t.Errorf("%s: %s: exit code %d\n%s", name, verb, code, stderr)
			}
		}
		if got := query(columns); got != want.columns {
			t.Errorf("%s: columns %s", name, got)
		}
	}
}

// TestPlanForAPullRequest: Markdown with the statement, the verdict and a table, also of a refusal, and no text of others that Markdown
// obeys; bare statements that the server takes; JSON as --json prints it.
func TestPlanForAPullRequest(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 20)
	database, _, _ := strings.Cut(name, ".")
	folder := files(t, map[string]string{
		"t.sql": "CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(200), KEY (a), c INT COMMENT '``` <b>|x')",
		"u.sql": "CREATE TABLE u (id INT PRIMARY KEY)",
	})
	plan := func(want int, args ...string) (string, string) {
		t.Helper()
		code, stdout, stderr := midstream(t, append(append([]string{"plan", "--database=" + database}, args...), flagsTo(t, i)...)...)
		if code != want {
			t.Errorf("%q: exit code %d\n%s\n%s", args, code, stdout, stderr)
		}
		return stdout, stderr
	}
	md, _ := plan(exit.Done, "--format=md", "--to="+folder, "--method=shadow")
	contains(t, md, "### "+database+".t on ", "\n````sql\nALTER TABLE `"+database+"`.`t` ADD COLUMN", "COMMENT '``` <b>|x'", "\n````\n",
		"\n**OK to run", "\n| Method | ", "\n| Data loss | none", "**Next** ")
	if strings.Contains(strings.ReplaceAll(md, "COMMENT '``` <b>|x'", ""), "<b>") {
		t.Errorf("it is obeyed:\n%s", md)
	}
	refused, _ := plan(exit.Refused, "--format=md", "ALTER TABLE t DROP COLUMN `n|o<b>`")
	contains(t, refused, "### cannot change "+database+".t: 1 problem", "\n- ", "n\\|o&lt;b>")

	sql, _ := plan(exit.Done, "--format=sql", "--to="+folder)
	executing(t, i, database)(strings.Split(strings.TrimSuffix(strings.TrimSpace(sql), ";"), ";\n")...)
	if got := query(columns); got != "id,a,b,c" || query(allTables) != "t,u" {
		t.Errorf("columns %s, tables %s\n%s", got, query(allTables), sql)
	}
	if again, _ := plan(exit.Done, "--format=sql", "--to="+folder, "--exit-code"); again != "" {
		t.Errorf("it prints %q", again)
	}
	asJSON, _ := plan(exit.Done, "--format=json", "ALTER TABLE t ADD COLUMN d INT")
	if plans, _, _ := records(t, asJSON); len(plans) != 1 || plans[0].Table != name {
		t.Errorf("%+v", plans)
	}
	plan(exit.WrongUsage, "--format=sql", "--json", "ALTER TABLE t ADD COLUMN d INT")
	plan(exit.WrongUsage, "--format=sql", "DROP TABLE t")
}

// TestACommandWithoutATableIsForOneRun: if several runs are active, it lists them and changes none; --all tells them all.
func TestACommandWithoutATableIsForOneRun(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 200)
	database, _, _ := strings.Cut(name, ".")
	executing(t, i, database)("CREATE TABLE u LIKE t")
	folder := "--control-dir=" + filepath.Join(t.TempDir(), "c")
	var runs []*running
	for _, of := range []string{name, database + ".u"} {
		r := start(t, command(t, append([]string{"run", "--method=shadow", "--hold", "--drop-old", folder, "ALTER TABLE " + of + " ADD COLUMN c INT"},
			flagsTo(t, i)...)...))
		r.await(&r.stdout, "on hold: ")
		runs = append(runs, r)
	}
	tell := func(want int, args ...string) string {
		t.Helper()
		code, stdout, stderr := midstream(t, append(args, folder)...)
		if code != want {
			t.Errorf("%q: exit code %d\n%s\n%s", args, code, stdout, stderr)
		}
		return stdout + stderr
	}
	for _, args := range [][]string{{"pause"}, {"resume"}, {"hold"}, {"throttle", "30%"}, {"set", "lock-wait=1s"}} {
		contains(t, tell(exit.WrongUsage, args...), "2 runs are active: ", name+" on "+i.Address, database+".u on ", "no run was affected", "--all")
	}
	if status := tell(exit.Done, "status"); strings.Contains(strings.ToLower(status), "paused") {
		t.Errorf("one is paused:\n%s", status)
	}
	if told := tell(exit.Done, "pause", "--all"); strings.Count(told, "\n") != 2 {
		t.Errorf("not both: %s", told)
	}
	tell(exit.Done, "resume", "--all")
	tell(exit.Done, "abort", database+".u")
	if code := runs[1].exit(); code != exit.Aborted {
		t.Errorf("exit code %d", code)
	}
	tell(exit.Done, "pause")
	tell(exit.Done, "resume")
	tell(exit.Done, "cutover", name)
	if code := runs[0].exit(); code != exit.Done {
		t.Errorf("exit code %d\n%s", code, &runs[0].stderr)
	}
}
