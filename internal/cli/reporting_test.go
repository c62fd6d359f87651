package cli

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"midstream/internal/cli/exit"
	"midstream/internal/face/report"
	"midstream/internal/lab/mysqltest"
)

// TestEveryRunHasAReport: a page is written at the end of a run, whatever that was, and can be made again.
func TestEveryRunHasAReport(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 2000)
	folder := filepath.Join(t.TempDir(), "runs")
	run := func(alter string, want int, more ...string) {
		t.Helper()
		args := append(append([]string{"run", "--method=shadow", "--history-dir=" + folder}, more...), flagsTo(t, i)...)
		if code, stdout, stderr := midstream(t, append(args, alter)...); code != want {
			t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
		} else if len(more) == 0 && !strings.Contains(stdout, "report    "+folder) {
			t.Errorf("it does not say where its report is:\n%s", stdout)
		}
	}
	told := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := midstream(t, append([]string{"report", "--history-dir=" + folder}, args...)...)
		if code != exit.Done {
			t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
		}
		return stdout
	}
	read := func(args ...string) (r report.Report) {
		t.Helper()
		if err := json.Unmarshal([]byte(told(append(args, "--format=json")...)), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	run("ALTER TABLE "+name+" ADD COLUMN c INT", exit.Done)
	r := read()
	if r.State != "done" || r.Run.Table != name || r.Run.Alter != "ADD COLUMN c INT" || r.Plan == nil || r.Plan.Method != "shadow" ||
		r.Result.RowsCopied != 2000 {
		t.Errorf("the report is %+v", r)
	}
	var phases []string
	for _, p := range r.Phases {
		phases = append(phases, p.Name)
	}
	if got := strings.Join(phases, " "); !strings.HasPrefix(got, "check shadow") || !strings.HasSuffix(got, "cutover cleanup done") {
		t.Errorf("phases %s", got)
	}
	for _, end := range []string{"html", "json", "md"} {
		text, err := os.ReadFile(filepath.Join(folder, r.Run.ID+"."+end))
		if err != nil || !strings.Contains(string(text), "ADD COLUMN c INT") {
			t.Errorf("the report as %s: %v\n%.200s", end, err, text)
		}
	}
	run("ALTER TABLE "+name+" ADD COLUMN d INT, ADD PRIMARY KEY (b)", exit.Refused, "--json")
	if r := read(name); r.State != "refused" || r.Result.ExitCode != exit.Refused {
		t.Errorf("of a run that was refused: %+v", r)
	}
	run("ALTER TABLE "+name+" ADD COLUMN d INT", exit.Done, "--no-history")
	if list := strings.TrimSpace(
		told("--list"),
	); strings.Count(list, "\n") != 3 || strings.Contains(list, " 0.0 ms") || !strings.HasPrefix(list, "WHEN  ") || !strings.Contains(list, "  done  ") ||
		!strings.Contains(list, "  refused  ") {
		t.Errorf("the list is\n%s", list)
	}
	if text := told("--list", "--limit=1"); strings.Count(text, "\n") != 4 || !strings.Contains(text, "1 older run: --limit=0 lists all") {
		t.Errorf("the list of one run is\n%s", text)
	}
	if text := told(r.Run.ID); !strings.HasPrefix(text, "# ") || strings.Contains(text, "<!doctype") {
		t.Errorf("a pipe gets\n%.100s", text)
	}
	out := filepath.Join(t.TempDir(), "r.html")
	told(r.Run.ID, "--out="+out)
	if page, err := os.ReadFile(out); err != nil || !strings.Contains(string(page), "<!doctype html>") {
		t.Errorf("%v: %.100s", err, page)
	}
	for form, want := range map[string]int{"html": exit.WrongUsage, "md": exit.Done, "json": exit.Done, "": exit.Done} {
		args := []string{"report", "--history-dir=" + folder}
		if form != "" {
			args = append(args, "--format="+form)
		}
		cmd := command(t, args...)
		terminal, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(terminal) // it ends with an error
		_ = cmd.Wait()
		if code, is := cmd.ProcessState.ExitCode(), strings.Contains(string(text), "--out=report.html"); code != want || is != (form == "html") ||
			strings.Contains(string(text), "<!doctype") {
			t.Errorf("%s on a terminal: exit code %d\n%s", form, code, text)
		}
	}
	code, _, stderr := midstream(t, "report", "shop.nothing", "--history-dir="+folder)
	if code != exit.NoRun || !strings.Contains(stderr, "report --list") {
		t.Errorf("of no run: exit code %d\n%s", code, stderr)
	}
	args := append([]string{"run", "--history-dir=/dev/null/x", "ALTER TABLE " + name + " ADD COLUMN e INT"}, flagsTo(t, i)...)
	if code, _, stderr := midstream(t, args...); code != exit.WrongUsage || !strings.Contains(stderr, "nothing was written") {
		t.Errorf("a folder that can't be: exit code %d\n%s", code, stderr)
	}
}

// TestReportOfARunThatWentOn: it tells what the run told that was killed, too.
func TestReportOfARunThatWentOn(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 2000)
	folder := filepath.Join(t.TempDir(), "runs")
	args := append(
		[]string{"run", "--method=shadow", "--history-dir=" + folder, "ALTER TABLE " + name + " ADD COLUMN c INT"},
		flagsTo(t, i)...)
	killed := start(t, command(t, append(args, "--hold")...))
	killed.await(&killed.stdout, "on hold")
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-killed.done
	if code, stdout, stderr := midstream(t, args...); code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, stderr := midstream(t, "report", "--format=json", "--history-dir="+folder)
	var r report.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("exit code %d: %v\n%s", code, err, stderr)
	}
	if len(r.Earlier) != 1 || r.Earlier[0].State != "unfinished" || r.State != "done" {
		t.Errorf("it is %s, and went on with %+v", r.State, r.Earlier)
	}
	var phases, events []string
	for _, p := range r.Phases {
		phases = append(phases, p.Name)
	}
	for _, h := range r.Happenings {
		events = append(events, h.Event)
	}
	if got := strings.Join(phases, " "); !strings.Contains(got, "hold check ") || !strings.Contains(strings.Join(events, " "), "resumed") {
		t.Errorf("phases %s; events %s", got, events)
	}
}
