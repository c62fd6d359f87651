package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// files writes files of definitions, by name, and returns their folder.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// records reads the plans and the result of --json.
func records(t *testing.T, stdout string) (plans []record.Plan, result record.Result, notes string) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		var h record.Head
		var p record.Plan
		var n record.Note
		err := json.Unmarshal([]byte(line), &h)
		switch h.Event {
		case record.NamePlan:
			err = json.Unmarshal([]byte(line), &p)
			plans = append(plans, p)
		case record.NameNote:
			err = json.Unmarshal([]byte(line), &n)
			notes += n.Text + "\n"
		case record.NameResult:
			err = json.Unmarshal([]byte(line), &result)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
	}
	return plans, result, notes
}

// wanted is a definition of the tests' table with what else it shall have.
func wanted(more string) string {
	return "CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT, " + more + ")"
}

const allTables = "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"

// TestTo: a plan and a run lead a table to its file, and a second run does nothing.
func TestTo(t *testing.T) {
	sideBySide(t)
	onBoth(t, func(t *testing.T, i *mysqltest.Instance) {
		name, query := table(t, i, 200)
		database, _, _ := strings.Cut(name, ".")
		executing(t, i, database)("CREATE TABLE other (id INT PRIMARY KEY)")
		folder := files(t, map[string]string{
			"1.sql": "-- orders\n" + wanted("b VARCHAR(200), c INT NOT NULL DEFAULT 7, KEY (a), KEY cb (c, b)") + ";",
			"2.sql": "CREATE TABLE IF NOT EXISTS fresh (id INT PRIMARY KEY, t INT, CONSTRAINT f FOREIGN KEY (t) REFERENCES t (id));",
			"x.txt": "not SQL",
		})
		to := append(flagsTo(t, i), "--database="+database, "--to="+folder)
		code, stdout, stderr := midstream(t, append([]string{"plan", "--json"}, to...)...)
		plans, result, notes := records(t, stdout)
		if code != exit.Done || len(plans) != 2 || stderr != "" {
			t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
		}
		if p := plans[0]; p.Table != name || p.Method != "inplace" || !strings.HasPrefix(p.Alter, "ADD COLUMN `c`") ||
			p.Place != folder+"/1.sql:2" ||
			p.Create != "" {
			t.Errorf("%+v", p)
		}
		if p := plans[1]; p.Table != database+".fresh" || p.Method != "create" ||
			!strings.HasPrefix(p.Create, "CREATE TABLE IF NOT EXISTS fresh") ||
			p.Alter != "" ||
			p.ServerVersion != plans[0].ServerVersion {
			t.Errorf("%+v", p)
		}
		if result.Outcome != "done" || len(result.Tables) != 2 || result.Tables[0].State != session.StatePlanned || result.Swapped {
			t.Errorf("%+v", result)
		}
		contains(t, notes, "not in the files, and unchanged: "+database+".other")
		if got := query(allTables); got != "other,t" {
			t.Errorf("a plan makes of the tables %s", got)
		}

		code, stdout, stderr = midstream(t, append([]string{"run"}, to...)...)
		if code != exit.Done {
			t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
		}
		contains(
			t, stdout, "INPLACE: ", "altered "+name,
			"Done: created "+database+".fresh", "2 tables: 1 changed, 1 created",
		)
		contains(t, stderr, "unchanged: "+database+".other")
		if got := query(columns); got != "id,a,b,c" {
			t.Errorf("columns %s", got)
		}
		for _, verb := range []string{"run", "plan", "check"} {
			code, stdout, stderr = midstream(t, append([]string{verb}, to...)...)
			if code != exit.Done || strings.Count(stdout, "the table already has this definition") != 2 {
				t.Errorf("%s again: exit code %d\n%s\n%s", verb, code, stdout, stderr)
			}
		}
		code, stdout, _ = midstream(t, append([]string{"run", "--json"}, to...)...)
		plans, result, _ = records(t, stdout)
		if code != exit.Done || len(plans) != 2 || plans[0].Method != "none" || result.Outcome != "done" || !result.Swapped ||
			result.Tables[1].State != session.StateEqual {
			t.Errorf("again: exit code %d\n%s", code, stdout)
		}
		if got := query(allTables); got != "fresh,other,t" {
			t.Errorf("the tables are %s", got)
		}
	})
}

// TestToShadow: a table that is built anew keeps its rows, whatever is renamed, and a run that was killed in
// mid-copy is gone on with.
func TestToShadow(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 30_000)
	database, _, _ := strings.Cut(name, ".")
	sum := query("SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(b)), ' ', SUM(a)) FROM t")
	folder := files(t, map[string]string{"t.sql": wanted("n INT CHECK (n <> 5), text VARCHAR(300) COMMENT 'was b', KEY (a)")})
	run := append([]string{"run", "--method=shadow", "--drop-old"}, append(flagsTo(t, i), "--database="+database, "--to="+folder)...)
	code, stdout, stderr := midstream(t, run...)
	if code != exit.Refused {
		t.Fatalf("exit code %d\n%s", code, stdout)
	}
	stderr = strings.Join(strings.Fields(stderr), " ")
	contains(
		t, stderr, "column b would be dropped and columns n, text added", "--map b=text, or --map =text if it is new",
		"--map b=n", "nothing was written",
	)
	run = append(run, "--map", "b=text", "--map", "=n")

	r := start(t, command(t, append([]string{run[0], "--chunk-time=10ms", "--workers=1"}, run[1:]...)...))
	r.await(&r.stdout, "copying rows")
	time.Sleep(50 * time.Millisecond)
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.exit()
	code, stdout, stderr = midstream(t, run...)
	if code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout, "copy to a new table", "altered "+name)
	if got := query("SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(text)), ' ', SUM(a)) FROM t"); got != sum {
		t.Errorf("rows %s, want %s", got, sum)
	}
	code, stdout, stderr = midstream(t, run...) // its --map is done
	if code != exit.Done || !strings.Contains(stdout, "already has this definition") {
		t.Errorf("again: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if got := query(allTables); got != "t" {
		t.Errorf("the tables are %s", got)
	}
}

// TestToMistakes: what is wrong with the files is told with its place, and nothing is written.
func TestToMistakes(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 1)
	database, _, _ := strings.Cut(name, ".")
	for _, c := range []struct {
		name  string
		files map[string]string
		flags []string
		code  int
		says  []string
	}{
		{"another statement", map[string]string{"a.sql": wanted("b INT") + ";\n\nINSERT INTO t VALUES (1)"}, nil, exit.WrongUsage,
			[]string{"a.sql:3: only CREATE TABLE is read, and this is INSERT INTO t VALUES (1)"}},
		{"twice", map[string]string{"a.sql": wanted("b INT"), "b.sql": "\n" + wanted("b INT")}, nil, exit.WrongUsage,
			[]string{"b.sql:2: table " + name + " is defined at", "a.sql:1 already"}},
		{"empty", map[string]string{"a.sql": "-- nothing"}, nil, exit.WrongUsage, []string{"the file has no CREATE TABLE"}},
		{"no files", nil, nil, exit.WrongUsage, []string{"no file whose name ends in .sql"}},
		{"both ways", map[string]string{"a.sql": wanted("b INT")}, []string{"ALTER TABLE t FORCE"}, exit.WrongUsage, []string{"not both"}},
		{"other table", map[string]string{"a.sql": wanted("b INT")}, []string{"--table=u"}, exit.WrongUsage, []string{"has no CREATE TABLE of " + database + ".u"}},
		{"map of none", map[string]string{"a.sql": wanted("b INT")}, []string{"--map=a=u.c"}, exit.WrongUsage, []string{"--map a=u.c: the files define no such table"}},
		{"map of which", map[string]string{"a.sql": wanted("b INT") + "; CREATE TABLE u (id INT PRIMARY KEY)"}, []string{"--map=a=c"}, exit.WrongUsage,
			[]string{"--map a=c: which table? Write table.c after the ="}},
		{"keep of which", map[string]string{"a.sql": wanted("b INT") + "; CREATE TABLE u (id INT PRIMARY KEY)"}, []string{"--keep=id > 1", "--key=k"}, exit.WrongUsage,
			[]string{"--keep is for one table: add --table, or --together with", "--key is for one table"}},
		{"syntax", map[string]string{"a.sql": "-- x\n" + wanted("\n\nb VARCHAR,\nc INT")}, nil, exit.Refused,
			[]string{"a.sql:4: You have an error in your SQL syntax", "nothing was written"}},
		{"several", map[string]string{"a.sql": wanted("c VARCHAR(200), KEY (a)"), "b.sql": "CREATE TABLE u (id INT PRIMARY KEY, KEY (x))"}, nil, exit.Refused,
			[]string{name + ": column b would be dropped and column c added", "--map b=t.c", database + ".u:", "b.sql:1: Key column 'x' doesn't exist"}},
		{"no such database", map[string]string{"a.sql": "CREATE TABLE nowhere.t (a INT)"}, []string{"--database="}, exit.Refused, []string{"a.sql:1: Unknown database 'nowhere'"}},
	} {
		folder := files(t, c.files)
		args := append([]string{"run"}, append(append(flagsTo(t, i), "--database="+database, "--to="+folder), c.flags...)...)
		code, stdout, stderr := midstream(t, args...)
		if code != c.code {
			t.Errorf("%s: exit code %d\n%s\n%s", c.name, code, stdout, stderr)
		}
		contains(t, strings.Join(strings.Fields(stderr), " "), c.says...)
	}
	if got := query(allTables); got != "t" {
		t.Errorf("the tables are %s", got)
	}
}

// TestToStops: a run on several tables stops at the first that fails, and says which are done; what is
// refused of any of them is refused before.
func TestToStops(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 100)
	database, _, _ := strings.Cut(name, ".")
	exec := executing(t, i, database)
	exec("CREATE TABLE s (id INT PRIMARY KEY)", "CREATE TABLE u (id INT, v INT)", "INSERT INTO t (a, b) VALUES (NULL, REPEAT('x', 150))")
	texts := map[string]string{
		"1.sql": "CREATE TABLE s (id INT PRIMARY KEY, v INT)",
		"2.sql": wanted("b VARCHAR(120), KEY (a)"),
		"3.sql": "CREATE TABLE u (id INT, v BIGINT)",
	}
	args := append([]string{"run", "--json", "--database=" + database}, flagsTo(t, i)...)
	code, stdout, _ := midstream(t, append(args, "--method=shadow", "--drop-old", "--to="+files(t, texts))...)
	_, result, _ := records(t, stdout)
	if code != exit.Refused || len(result.Problems) == 0 || result.Problems[0].Code != "no-key" {
		t.Fatalf("exit code %d\n%s", code, stdout)
	}
	if got := query("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 's'"); got != "1" {
		t.Errorf("s has %s columns", got)
	}
	texts["3.sql"] = "CREATE TABLE u (id INT, v INT, w INT)"
	folder := files(t, texts)
	code, stdout, stderr := midstream(t, append(args, "--to="+folder)...)
	_, result, _ = records(t, stdout)
	var states []string
	for _, r := range result.Tables {
		states = append(states, r.Table+" "+r.State)
	}
	if want := []string{
		database + ".s changed",
		name + " failed",
		database + ".u waiting",
	}; code == exit.Done ||
		!slices.Equal(states, want) {
		t.Errorf("exit code %d, %v, want %v\n%s", code, states, want, stdout)
	}
	contains(t, result.Left, database+".s was altered; of "+name+": ")
	contains(t, stderr, "done:  "+database+".s was altered", "rest:  "+database+".u was not begun")
	exec("DELETE FROM t WHERE LENGTH(b) > 120")
	code, stdout, stderr = midstream(t, append(args, "--to="+folder)...)
	_, result, _ = records(t, stdout)
	if code != exit.Done || result.Tables[0].State != session.StateEqual || result.Tables[1].State != session.StateChanged ||
		result.Tables[2].State != session.StateChanged {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

// TestToWithoutPrivileges: it is refused before anything is written, and says what the account needs.
func TestToWithoutPrivileges(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 1)
	database, _, _ := strings.Cut(name, ".")
	exec := executing(t, i, database)
	to := "--to=" + files(t, map[string]string{"t.sql": wanted("b VARCHAR(200), c INT, KEY (a)")})
	for _, grant := range []string{"SELECT", "SELECT, CREATE"} {
		exec("DROP USER IF EXISTS wisher", "CREATE USER wisher IDENTIFIED BY 'secret'", "GRANT "+grant+" ON "+database+".* TO wisher")
		args := append([]string{"run"}, slices.DeleteFunc(flagsTo(t, i), func(f string) bool {
			return strings.HasPrefix(f, "--user") || strings.HasPrefix(f, "--password")
		})...)
		code, stdout, stderr := midstream(t, append(args, "--user=wisher", "--password=secret", "--database="+database, to)...)
		if code != exit.Refused {
			t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
		}
		contains(
			t, stderr, "command denied to user 'wisher'",
			"Give the account CREATE, DROP and SELECT on `"+database+"`.*", "nothing was written",
		)
	}
	exec("DROP USER wisher")
	if got := query(allTables); got != "t" {
		t.Errorf("the tables are %s", got)
	}
}

// TestL3_FilesMayHaveAColumnsOwnCheck: on MariaDB, --to compares and adds columns with a CHECK of their own, as each JSON has one.
func TestL3_FilesMayHaveAColumnsOwnCheck(t *testing.T) {
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "mariadb-10.11", "mariadb-11.8") {
		i := mysqltest.Server(t, version)
		name, query := table(t, i, 10)
		database, _, _ := strings.Cut(name, ".")
		to := func(want int, verb, more string, flags ...string) {
			t.Helper()
			folder := files(t, map[string]string{"t.sql": wanted("b VARCHAR(200), KEY (a)" + more)})
			args := append(append([]string{verb, "--database=" + database, "--to=" + folder}, flagsTo(t, i)...), flags...)
			if code, stdout, stderr := midstream(t, args...); code != want {
				t.Errorf("%s %s: exit code %d\n%s\n%s", verb, more, code, stdout, stderr)
			}
		}
		const columns = ", j JSON, n INT CHECK (n > 0), CONSTRAINT c CHECK (a < 1000000)"
		to(exit.Differs, "plan", columns, "--exit-code")
		to(exit.Done, "run", columns, "--drop-old")
		to(exit.Done, "plan", columns, "--exit-code")
		to(exit.Differs, "plan", strings.Replace(columns, "n > 0", "n > 1", 1), "--exit-code")
		if got := query("SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = DATABASE()"); got != "id,a,b,j,n" {
			t.Errorf("columns %s", got)
		}
	}
}
