package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/record"
)

func TestRunChangesATable(t *testing.T) {
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			i := mysqltest.Server(t, version)
			name, query := table(t, i, 5000)
			args := append([]string{"run", "--method=shadow", "--verbose"}, flagsTo(t, i)...)
			code, stdout, stderr := midstream(t, append(args, "ALTER TABLE "+name+" ADD COLUMN c INT, ADD INDEX (c)")...)
			if code != exit.Done {
				t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
			contains(t, stdout, name+" on ", "Statement  ADD COLUMN c INT, ADD INDEX (c)", "PRIMARY (id)",
				"2/5 copy      copying rows", "lock attempt 1 granted", "5/5 cut over  locked for", "altered "+name,
				"5,000 copied", "kept as "+name+"_old", "midstream cleanup --old "+name)
			if got := query(columns); got != "id,a,b,c" {
				t.Errorf("columns %s", got)
			}
			if got := query("SELECT COUNT(*) FROM t"); got != "5000" {
				t.Errorf("%s rows", got)
			}
		})
	}
}

func TestRunInWordsOfFlags(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 100)
	database, _, _ := strings.Cut(name, ".")
	args := append(
		[]string{
			"run", "--method=shadow", "--quiet", "--drop-old", "--defer-indexes=yes", "--workers=1", "--explain=off",
			"--apply-workers=1", "--chunk-time=50ms", "--database=" + database, "--table=t",
			"--alter=ADD COLUMN bb INT",
		},
		flagsTo(t, i)...)
	code, stdout, stderr := midstream(t, args...)
	if code != exit.Done || stderr != "" {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if lines := strings.Count(stdout, "\n"); lines != 1 {
		t.Errorf("--quiet said:\n%s", stdout)
	}
	contains(t, stdout, "the old table was dropped")
	if got := query(columns); got != "id,a,b,bb" {
		t.Errorf("columns %s", got)
	}
	if got := query("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "1" {
		t.Errorf("%s tables are left", got)
	}
}

// TestQuietTellsOfTheOldTable: it takes as much room as the new one.
func TestQuietTellsOfTheOldTable(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 10)
	code, stdout, stderr := midstream(
		t,
		append([]string{"run", "--method=shadow", "-q", "ALTER TABLE " + name + " ADD COLUMN c INT"}, flagsTo(t, i)...)...)
	if code != exit.Done || strings.Count(stdout, "\n") != 1 {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout, "the old table is kept as "+name+"_old")
}

// TestRunTellsJSON: every line is an object with event and at, the last is the result,
// and no line has a field that is not documented.
func TestRunTellsJSON(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 5000)
	code, stdout, stderr := midstream(
		t,
		append([]string{"run", "--method=shadow", "--json", "ALTER TABLE " + name + " ADD COLUMN c INT"}, flagsTo(t, i)...)...)
	if code != exit.Done || stderr != "" {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	seen := map[string]int{}
	var last string
	for line := range strings.Lines(stdout) {
		var h record.Head
		if err := json.Unmarshal([]byte(line), &h); err != nil || h.At == "" {
			t.Fatalf("%v: %s", err, line)
		}
		record, known := recordTypes()[h.Event]
		if !known {
			t.Fatalf("event %q is not documented", h.Event)
		}
		decoder := json.NewDecoder(bytes.NewReader([]byte(line)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(record); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		seen[h.Event]++
		last = line
	}
	for _, name := range []string{record.NamePlan, record.NamePhase, record.NameProgress, record.NameLockAttempt, record.NameSwapped} {
		if seen[name] == 0 {
			t.Errorf("no %s among %v", name, seen)
		}
	}
	var r record.Result
	if err := json.Unmarshal([]byte(last), &r); err != nil {
		t.Fatal(err)
	}
	if r.Event != record.NameResult || r.Outcome != "done" || r.ExitCode != 0 || !r.Swapped || r.RowsCopied != 5000 ||
		r.Old != name+"_old" || r.Attempts < 1 || r.LockHeldMS <= 0 || r.PeakRSSBytes < 1<<20 || r.CPUMS <= 0 {
		t.Errorf("%+v", r)
	}
}

func TestPlanWritesNothing(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 100)
	statement := "ALTER TABLE " + name + " ADD COLUMN c INT"
	code, stdout, stderr := midstream(t, append([]string{"plan", "--method=shadow", "--verbose", statement}, flagsTo(t, i)...)...)
	if code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout, name+"_shadow", name+"_midstream", name+"_old", "filled while rows are copied")
	if got := query("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "1" {
		t.Errorf("%s tables", got)
	}
	_, stdout, _ = midstream(t, append([]string{"plan", "--json", statement}, flagsTo(t, i)...)...)
	contains(t, stdout, `"event":"plan"`, `"event":"result"`, `"outcome":"done"`, `"swapped":false`)
}

// TestPlanTakesTheFlagsOfRun: run can be replaced by plan in a command, and what option
// files say of a run counts.
func TestPlanTakesTheFlagsOfRun(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 10)
	args := append(
		[]string{"plan", "--method=shadow", "ALTER TABLE " + name + " ADD COLUMN c INT", "--workers=2", "--lock-wait=1s", "--full-speed"},
		flagsTo(t, i)...)
	file := filepath.Join(t.TempDir(), "midstream.cnf")
	if err := os.WriteFile(file, []byte("[midstream]\ndrop-old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, drop := range []string{"--drop-old", "--defaults-file=" + file} {
		code, stdout, stderr := midstream(t, append(args, drop)...)
		if code != exit.Done {
			t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
		}
		contains(t, stdout, "the old table is dropped")
	}
}

// TestQuietTellsOfRisks: they may need somebody.
func TestQuietTellsOfRisks(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 10)
	reach := append([]string{"-q"}, flagsTo(t, i)...)
	code, stdout, stderr := midstream(t, append(reach, "plan", "ALTER TABLE "+name+" ADD UNIQUE KEY (b)")...)
	if code != exit.Done || strings.Contains(stdout, "  Method ") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout, name, "a duplicate stops the run")
	code, stdout, stderr = midstream(t, append(reach, "plan", "ALTER TABLE "+name+" ADD COLUMN c INT")...)
	if code != exit.Done || stdout != "" {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	code, _, stderr = midstream(t, append(reach, "plan", "ALTER TABLE "+name+" ENGINE=MyISAM")...)
	if code != exit.Refused {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "cannot change "+name, "changes the engine")
}

// TestExitCodes runs into every code that needs no second process (see interrupt_test.go
// for the others).
func TestExitCodes(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	db, database := mysqltest.Database(t, i)
	for _, s := range []string{"CREATE TABLE nokey (a INT, b INT)", "CREATE TABLE twice (id INT PRIMARY KEY, a INT)",
		"INSERT INTO twice VALUES (1, 7), (2, 7)", "CREATE VIEW v AS SELECT 1 AS one"} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	reach := flagsTo(t, i)
	for _, c := range []struct {
		name   string
		args   []string
		code   int
		stderr []string
	}{
		{"no verb", nil, exit.Done, nil},
		{"help", []string{"help", "exit-codes"}, exit.Done, nil},
		{"unknown verb", []string{"runn"}, exit.WrongUsage, []string{`unknown command "runn"; did you mean "run"?`}},
		{"unknown flag", []string{"run", "--nope"}, exit.WrongUsage, []string{"unknown flag: --nope", "midstream run --help"}},
		{"flag of undo as a word", []string{"undo", "list"}, exit.WrongUsage, []string{"did you mean --list?"}},
		{"flag of undo as a word, and a table", []string{"undo", "extend=24h", "shop.orders"}, exit.WrongUsage, []string{"name one table", "did you mean --extend=24h?"}},
		{"verb of another tool", []string{"rollback", "shop.orders"}, exit.WrongUsage, []string{`unknown command "rollback"; did you mean "undo"?`}},
		{"mistyped verb with a flag", []string{"undoo", "-uroot", "shop.orders"}, exit.WrongUsage, []string{`unknown command "undoo"; did you mean "undo"?`}},
		{"mistyped verb of a group with a flag", []string{"sandbox", "rum", "--version=9.7"}, exit.WrongUsage, []string{`unknown command "sandbox rum"; did you mean "run"?`}},
		{"mistyped flag", []string{"run", "--lock-wiat=1s"}, exit.WrongUsage, []string{"unknown flag: --lock-wiat; did you mean --lock-wait?"}},
		{"half a flag", []string{"run", "--lock-b=1s"}, exit.WrongUsage, []string{"unknown flag: --lock-b; did you mean --lock-backoff or --lock-backoff-max?"}},
		{"no statement", []string{"run"}, exit.WrongUsage, []string{"name the change"}},
		{"everything wrong at once", []string{"run", "DROP VIEW x", "--workers=0", "--chunk-time=5", "--lock-wait=1h",
			"--defer-indexes=maybe", "--ssl-mode=SOME", "--map=x", "--port=99999", "--json", "--quiet"}, exit.WrongUsage,
			[]string{"9 problems", "not one of the accepted statements", "--workers 0", "--chunk-time 5", "--lock-wait 1h", "--defer-indexes maybe",
				"--ssl-mode SOME", "--map x", "--port 99999"}},
		{"no key", append(reach, "run", "--method=shadow", "ALTER TABLE "+database+".nokey ADD COLUMN c INT"), exit.Refused,
			[]string{"cannot change", "no usable key", "fix: Let the server add a primary key", "ADD INDEX `followed`"}},
		{"no table", append(reach, "run", "--method=shadow", "ALTER TABLE "+database+".none ADD COLUMN c INT"), exit.Refused, []string{"no such table", "left:  nothing was written", "SHOW GRANTS"}},
		{"view", append(reach, "run", "--method=shadow", "ALTER TABLE "+database+".v ADD COLUMN c INT"), exit.Refused, []string{"not a base table but a view", "name the table that it shows"}},
		{"duplicate", append(reach, "run", "--method=shadow", "ALTER TABLE "+database+".twice ADD UNIQUE KEY (a)"), exit.Unfit,
			[]string{"failed in phase prescan", "2 rows sharing the value", "left:", "is untouched and nothing is left", "--no-prescan"}},
		{"duplicate in the copy", append(reach, "run", "--method=shadow", "--no-prescan", "ALTER TABLE "+database+".twice ADD UNIQUE KEY (a)"), exit.Unfit,
			[]string{"failed in phase copy", "left:", "is untouched and nothing is left"}},
		{"value that does not fit, in the copy", append(reach, "run", "--method=shadow", "--no-prescan",
			"ALTER TABLE "+database+".twice MODIFY a BIT(1)"), exit.Unfit,
			[]string{"failed in phase copy: row copy", "row with key (", "is untouched and nothing is left", "next:  Change the row, or the ALTER."}},
		{"nobody there", []string{"run", "--host=127.0.0.1", "--port=1", "ALTER TABLE a.b ADD COLUMN c INT"}, exit.Failed,
			[]string{"connection refused", "nothing was changed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := midstream(t, c.args...)
			if code != c.code {
				t.Errorf("exit code %d instead of %d\n%s\n%s", code, c.code, stdout, stderr)
			}
			contains(t, stderr, c.stderr...)
		})
	}
}

// TestNamesThatWereNoFormats: a percent sign in a table's name, at a run, and at a cleanup of what one has left.
func TestNamesThatWereNoFormats(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	_, query := table(t, i, 10)
	database := query("SELECT DATABASE()")
	for _, name := range []string{"50%d %s", "100%", "a%%b"} {
		executing(t, i, database)("CREATE TABLE `" + name + "` LIKE t")
		quoted := database + ".`" + name + "`"
		for _, args := range [][]string{
			{"run", "--method=shadow", "--rehearse", "--keep-shadow", "ALTER TABLE " + quoted + " ADD COLUMN c INT"},
			{"cleanup", "--yes", quoted},
			{"run", "--method=shadow", "ALTER TABLE " + quoted + " ADD COLUMN c INT"},
			{"cleanup", "--yes", "--old", quoted},
		} {
			if code, stdout, stderr := midstream(t, append(args, flagsTo(t, i)...)...); code != exit.Done {
				t.Errorf("%v: exit code %d\n%s\n%s", args, code, stdout, stderr)
			}
		}
	}
	if got := query("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "4" {
		t.Errorf("%s tables, want 4", got)
	}
}

// TestAskBeforeTheChange: with --ask, a run prints its plan and changes the table only if a person answers yes on the terminal.
func TestAskBeforeTheChange(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 10)
	columns := "SELECT COUNT(*) FROM information_schema.columns WHERE CONCAT(table_schema, '.', table_name) = '" + name + "'"
	had := query(columns)
	ask := func(answer, statement, then string) (code int, screen string) {
		t.Helper()
		cmd := command(t, append([]string{"run", "--ask", statement}, flagsTo(t, i)...)...)
		terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 120})
		if err != nil {
			t.Fatal(err)
		}
		defer terminal.Close()
		seen := watch(terminal)
		seen.await(t, "now? [y/N] ")
		if _, err := io.WriteString(terminal, answer+"\n"); err != nil {
			t.Fatal(err)
		}
		seen.await(t, then)
		_ = cmd.Wait() // its exit code counts
		return cmd.ProcessState.ExitCode(), seen.String()
	}
	alter := "ALTER TABLE " + name + " ADD COLUMN asked INT"
	for _, no := range []string{"", "n", "yep"} {
		code, screen := ask(no, alter, "nothing was written")
		if code != exit.Aborted || query(columns) != had {
			t.Errorf("%q: exit code %d\n%s", no, code, screen)
		}
		contains(t, strings.ReplaceAll(screen, "\r", ""), "OK to run", "Method", "Change "+name+" now? [y/N] ")
	}
	if code, screen := ask("y", alter, "Done in"); code != exit.Done || query(columns) == had {
		t.Errorf("exit code %d\n%s", code, screen)
	}
	if code, screen := ask("no", "DROP TABLE "+name, "nothing was written"); code != exit.Aborted || query(columns) == "0" {
		t.Errorf("exit code %d\n%s", code, screen)
	}
	code, _, stderr := midstream(t, append(flagsTo(t, i), "run", "--ask", "--json", alter)...)
	if code != exit.WrongUsage || !strings.Contains(stderr, "--ask excludes --json and --quiet") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	code, _, stderr = midstream(t, append(flagsTo(t, i), "run", "--ask", "ALTER TABLE "+name+" ADD COLUMN again INT")...)
	if code != exit.WrongUsage || !strings.Contains(stderr, "left:  nothing was written\n") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}
