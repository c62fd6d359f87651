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
	first.await(&first.stdout, "held: ")
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
		{"b VARCHAR(200), KEY (a), d INT", exit.Done, exit.Differs, "differs", "1 table of 1 not equal to the files of --to"},
		{"b VARCHAR(200), KEY (a), d INT AS (nosuch) STORED", exit.Refused, exit.Refused, "refused", "nosuch"},
	} {
		folder := files(t, map[string]string{"t.sql": wanted(c.more)})
		args := append([]string{"plan", "--database=" + database, "--to=" + folder}, flagsTo(t, i)...)
		code, stdout, stderr := midstream(t, args...)
		if code != c.plain {
			t.Errorf("%s: exit code %d\n%s\n%s", c.more, code, stdout, stderr)
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
