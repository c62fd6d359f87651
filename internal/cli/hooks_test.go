package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/hook"
)

func hooksPage() string {
	var b strings.Builder
	b.WriteString(
		generated + "# Hooks\n\n`--hook MOMENT=PROGRAM` or `--hook MOMENT=URL` makes a run call a program or a URL of yours at a moment.\nYou may repeat the flag; the hooks of a moment are called in that order.\n\n" +
			"```\nmidstream run --hook on-end=/usr/local/bin/tell --hook before-cutover=https://changes.example/may-i \"ALTER TABLE shop.orders ADD COLUMN n INT\"\n```\n\n" +
			"For all runs of a user or of a server, write the hooks into an option file (`[midstream]`, `hook = on-end=/usr/local/bin/tell`).\n" +
			"Write a URL with a secret there too, because a command line shows it to everyone on the machine.\n" +
			"`--hook` on the command line replaces all hooks of option files.\nSubmissions to `midstream serve` cannot name hooks; its option files can.\n\n" +
			"## Moments\n\n| moment | when |\n|---|---|\n",
	)
	for _, m := range hook.Moments() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", m.Name, m.What)
	}
	b.WriteString(
		"\n**`before-` hooks have a veto.**\nThe run waits for them without a lock, and captures and applies changes during that time.\n" +
			"If a hook of `before-cutover` fails, the run is held, and `midstream status` prints the reason, with the first three lines of the hook's output.\n" +
			"The run asks the hook again every " + hook.AskEvery.String() + ", and at once after `midstream cutover`; it changes the table when the hook has agreed.\n" +
			"`midstream cutover --now` does not wait for the hook.\n" +
			"With `--hook-veto=abort`, the run ends as with Ctrl-C: the table is unchanged, the run removes what it has made, and the exit code is 12 (aborted).\n" +
			"A hook of `before-copy` that fails always ends the run in this way.\n" +
			"A hook that has agreed is not asked again in a run, even if the run loses its server and resumes, or has to ask for the lock again.\n\n" +
			"**All others change nothing.**\nThey are called one after the other while the run continues, and the run reports failed hooks.\n" +
			"At most 32 calls wait; further calls are left out, and counted at the end.\n" +
			"The run ends when the last hooks have ended, or after twice `--hook-timeout`.\n\n" +
			"A hook has failed if its exit code is not 0, if a signal ends it, or if its URL answers with another status than 2xx.\n" +
			"It has also failed if it takes longer than `--hook-timeout` (30 s); a program is then killed with its complete process group.\n\n" +
			"A wrong command line, or a server that cannot be reached, ends midstream before there is a run: no hook is called.\n" +
			"A run that is killed, or left by a second Ctrl-C, calls no hook either; then the file of `--metrics-file` is no longer written.\n\n" +
			"## What a hook gets\n\nA program is called without arguments and without a shell, in the folder in which midstream was started.\n" +
			"On standard input it gets one JSON document, which it need not read; a URL gets it as the body of a POST.\n" +
			"Redirects are followed on the same scheme, host and port only, and if they keep the document (307, 308).\n\n| field | type | meaning |\n|---|---|---|\n",
	)
	describe(&b, "", reflect.TypeFor[hook.Document]())
	b.WriteString(
		"\nA program has a short form in its environment: `MIDSTREAM_MOMENT`, `MIDSTREAM_RUN` (the id), `MIDSTREAM_TABLE`, `MIDSTREAM_ALTER`, `MIDSTREAM_INTO`, `MIDSTREAM_SERVER`, `MIDSTREAM_REHEARSAL`, `MIDSTREAM_PHASE`, " +
			"`MIDSTREAM_OUTCOME`, `MIDSTREAM_ERROR` and `MIDSTREAM_REPORT`.\n" +
			"Values are cut at 32 KB.\nNewlines and control characters are escaped in them (`\\n`, `\\u001b`), so that a hook can write them to a log; the document has them unescaped.\n" +
			"The rest is midstream's own environment, without `MYSQL_PWD` and other variables that begin with `MIDSTREAM_`.\n" +
			"Runs of serve also leave out variables that begin with `MYSQL_`: no hook gets a password.\n" +
			"Fields and variables are stable: later versions may add others.\n\n" +
			"## Examples\n\n`contrib/hooks` has these; a test runs them.\n",
	)
	for _, name := range []string{"chat", "ticket", "pager", "freeze"} {
		text, err := os.ReadFile("../../contrib/hooks/" + name + ".sh")
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&b, "\n`%s.sh`:\n\n```sh\n%s```\n", name, text)
	}
	return b.String()
}

// called are the documents that hooks have got.
type called struct {
	mu   sync.Mutex
	list []hook.Document
	raw  []string
}

func (c *called) take(text []byte) error {
	var d hook.Document
	err := json.Unmarshal(text, &d)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.raw = append(c.list, d), append(c.raw, string(text))
	return err
}

// moments are those at which hooks were called, in their order, with the phase of on-phase.
func (c *called) moments() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.list {
		name := string(d.Moment)
		if d.Moment == hook.OnPhase {
			name = d.Phase
		}
		list = append(list, name)
	}
	return list
}

// listener is a URL that takes documents, and answers with a status.
func (c *called) listener(t *testing.T, status int) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = c.take(text)
		}
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, "so says the change board")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// program writes one in sh.
func program(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hook.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestHooks: each moment's hooks are called once, in order, with what has happened; programs and URLs alike.
func TestHooks(t *testing.T) {
	sideBySide(t)
	c := toControl(t, 5000)
	var told called
	url, out := told.listener(t, http.StatusOK), filepath.Join(t.TempDir(), "out")
	note := program(t, `echo "$MIDSTREAM_MOMENT $MIDSTREAM_TABLE $MIDSTREAM_OUTCOME" >> `+out)
	args := []string{"--method=shadow", "--hold"}
	for _, m := range hook.Moments() {
		args = append(args, "--hook="+string(m.Name)+"="+url)
		if m.Name != hook.OnPhase {
			args = append(args, "--hook="+string(m.Name)+"="+note)
		}
	}
	c.begin("ALTER TABLE "+c.name+" ADD COLUMN c INT", args...)
	c.phase("hold")
	c.obeys("set", []string{"lock-wait=200ms"})
	c.obeys("cutover", nil)
	if code := c.run.exit(); code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, &c.run.stdout, &c.run.stderr)
	}
	moments := told.moments()
	order := func(list []string, words ...string) {
		t.Helper()
		at := 0
		for _, word := range words {
			i := slices.Index(list[at:], word)
			if i < 0 {
				t.Fatalf("no %s after %s in %s", word, list[:at], list)
			}
			at += i + 1
		}
	}
	order(moments, "check", "shadow", "copy", "hold", "on-held", "cutover", "cleanup", "done", "on-success", "on-end")
	order(moments, "shadow", "before-copy", "hold", "on-command", "before-cutover", "after-swap", "done")
	for _, m := range []string{"before-copy", "before-cutover", "after-swap", "on-success", "on-end"} {
		if n := len(slices.DeleteFunc(slices.Clone(moments), func(word string) bool { return word != m })); n != 1 {
			t.Errorf("%s comes %d times", m, n)
		}
	}
	if slices.Contains(moments, "on-failure") || len(moments) > 0 && moments[len(moments)-1] != "on-end" {
		t.Errorf("the moments are %s", moments)
	}
	last := told.list[len(told.list)-1]
	if last.Run.Table != c.name || last.Run.Alter != "ADD COLUMN c INT" || last.Run.ID == "" || last.Run.Process == 0 ||
		last.Outcome != "done" ||
		!strings.HasSuffix(last.Report, last.Run.ID+".html") {
		t.Errorf("the last document is %+v", last)
	}
	contains(t, told.raw[len(told.raw)-1], `"record":{"event":"result"`, `"swapped":true`)
	if at := slices.Index(moments, "before-cutover"); at >= 0 {
		contains(t, told.raw[at], `"record":{"event":"phase"`, `"phase":"cutover"`)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	order(
		strings.Split(string(text), "\n"), "before-copy "+c.name+" ", "before-cutover "+c.name+" ",
		"on-success "+c.name+" done", "on-end "+c.name+" done",
	)
}

// TestL9_AHookThatDoesNotAgreeHoldsTheRun: a run keeps its work while a hook before the cut-over says no. It asks again, prints the reason,
// and changes the table once the hook agrees. --now does not wait for it. A statement of the server's own waits as well.
func TestL9_AHookThatDoesNotAgreeHoldsTheRun(t *testing.T) {
	sideBySide(t)
	c := toControl(t, 2000)
	for i, how := range []string{"--method=shadow", "--method=instant", "--method=shadow"} {
		may := filepath.Join(t.TempDir(), "may")
		asked := filepath.Join(t.TempDir(), "asked")
		no := program(t, "echo x >> "+asked+"; test -e "+may+" || { echo \"ticket 12 is open\"; exit 1; }")
		agreed := filepath.Join(t.TempDir(), "agreed")
		yes := program(t, "echo x >> "+agreed)
		c.begin(fmt.Sprintf("ALTER TABLE %s ADD COLUMN c%d INT", c.name, i), how, "--hook=before-cutover="+yes, "--hook=before-cutover="+no)
		c.phase("hold")
		c.await("the hook's reason", func() bool { return strings.Contains(c.status().Held, "ticket 12 is open") })
		if n := c.query("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't'"); n != fmt.Sprint(3+i) {
			t.Errorf("%s: the table has %s columns while the hook says no", how, n)
		}
		if i == 2 {
			c.obeys("cutover", []string{"--now"})
		} else {
			if err := os.WriteFile(may, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			c.obeys("cutover", nil) // asks at once
		}
		if code := c.run.exit(); code != exit.Done {
			t.Fatalf("%s: exit code %d\n%s\n%s", how, code, &c.run.stdout, &c.run.stderr)
		}
		contains(t, c.run.stdout.String()+c.run.stderr.String(), "on hold: the hook before-cutover=", "ticket 12 is open", "asks again every 10s")
		if text, err := os.ReadFile(agreed); err != nil || len(text) != 2 {
			t.Errorf("%s: the hook that has agreed was asked %d times, %v", how, len(text)/2, err)
		}
		if text, err := os.ReadFile(asked); err != nil || (i < 2) != (len(text) == 4) {
			t.Errorf("%s: the other hook was asked %d times, %v", how, len(text)/2, err)
		}
		if n := c.query("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't'"); n != fmt.Sprint(4+i) {
			t.Errorf("%s: the table has %s columns at the end", how, n)
		}
	}
}

// TestVeto: a before- hook that fails in any way ends the run if it may, and nothing has happened.
func TestVeto(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	c := toControl(t, 2000)
	var told called
	no := told.listener(t, http.StatusForbidden)
	for _, v := range []struct {
		hook string
		want string
		args []string
	}{
		{"before-copy=" + program(t, "echo not on a Friday; exit 3"), "exit status 3: not on a Friday", []string{"--method=shadow"}},
		{"before-cutover=" + program(t, "cat > /dev/null; echo 'ticket 12 is open' >&2; exit 1"), "exit status 1: ticket 12 is open", []string{"--method=shadow"}},
		{"before-cutover=" + no, "the answer is 403 Forbidden: so says the change board", []string{"--method=shadow"}},
		{"before-cutover=" + program(t, "kill -KILL $$"), "signal: killed", []string{"--method=shadow"}},
		{"before-copy=" + program(t, "sleep 600"), "longer than 1s (--hook-timeout)", []string{"--method=shadow", "--hook-timeout=1s"}},
		{"before-cutover=" + program(t, "exit 1"), "exit status 1", []string{"--method=instant"}},
	} {
		var ends called
		args := slices.Concat(
			[]string{
				"run", "--hook-veto=abort", "--hook=" + v.hook, "--hook=on-failure=" + ends.listener(t, http.StatusOK),
				"ALTER TABLE " + c.name + " ADD COLUMN c INT",
			},
			v.args,
			flagsTo(t, c.i),
		)
		code, stdout, stderr := midstream(t, args...)
		if code != exit.Aborted {
			t.Errorf("%s: exit code %d\n%s", v.hook, code, stdout)
		}
		moment, _, _ := strings.Cut(v.hook, "=")
		contains(t, stderr, "the hook "+moment+"=", v.want, "is untouched", "nothing is left")
		if n := c.query("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't'"); n != "3" {
			t.Errorf("%s: the table has %s columns", v.hook, n)
		}
		if n := c.query("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); n != "1" {
			t.Errorf("%s: there are %s tables", v.hook, n)
		}
		if got := ends.moments(); !slices.Equal(got, []string{"on-failure"}) || ends.list[0].Outcome != "aborted" {
			t.Errorf("%s: told %s", v.hook, got)
		}
	}
}

// TestHookFails: a hook without a veto that fails is told, and changes nothing.
func TestHookFails(t *testing.T) {
	sideBySide(t)
	c := toControl(t, 100)
	args := slices.Concat(
		[]string{
			"run", "--method=shadow", "--hook=on-phase=" + program(t, "exit 7"),
			"--hook=on-end=" + program(t, "echo the pager is off; exit 1"),
			"ALTER TABLE " + c.name + " ADD COLUMN c INT",
		},
		flagsTo(t, c.i),
	)
	code, stdout, stderr := midstream(t, args...)
	if code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout+stderr, "hook on-phase=", "exit status 7")
	contains(t, stderr, "hook on-end=", "exit status 1: the pager is off")
	code, _, stderr = midstream(
		t,
		append(
			[]string{"run", "--hook=at-noon=/bin/true", "--hook=on-end=/nowhere/x", "ALTER TABLE " + c.name + " ADD COLUMN d INT"},
			flagsTo(t, c.i)...)...)
	if code != exit.WrongUsage {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "unknown moment at-noon", "cannot call /nowhere/x as a program")
}

// TestExampleHooks: those of contrib/hooks do what docs/hooks.md says.
func TestExampleHooks(t *testing.T) {
	sideBySide(t)
	for _, name := range []string{"jq", "curl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("the examples need %s: apt-get install jq curl", name)
		}
	}
	c := toControl(t, 100)
	folder := t.TempDir()
	var mu sync.Mutex
	got := map[string]map[string]any{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := map[string]any{}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		body["authorization"] = r.Header.Get("Authorization")
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] = body
	}))
	t.Cleanup(s.Close)
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	example := func(name string) string { return "../../contrib/hooks/" + name + ".sh" }
	run := func(want int) string {
		args := slices.Concat(
			[]string{
				"run",
				"--method=shadow",
				"--hook-veto=abort",
				"--hook=before-cutover=" + example("freeze"),
				"--hook=on-end=" + example("chat"),
				"--hook=on-failure=" + example("ticket"),
				"--hook=on-failure=" + example(
					"pager",
				),
				"--hook=on-success=" + example("pager"),
				"ALTER TABLE " + c.name + ` ADD COLUMN c VARCHAR(9) DEFAULT '"\\'`,
			},
			flagsTo(t, c.i),
		)
		cmd := command(t, args...)
		cmd.Env = append(
			cmd.Env, "CHAT_WEBHOOK="+s.URL+"/chat", "TICKET_URL="+s.URL+"/ticket",
			"TICKET_TOKEN_FILE="+write("token", "sesame"), "PAGER_URL="+s.URL+"/pager", "PAGER_KEY=k",
			"FREEZE_FILE="+filepath.Join(folder, "freeze"),
		)
		r := start(t, cmd)
		if code := r.exit(); code != want {
			t.Fatalf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
		}
		if strings.Contains(r.stderr.String(), "hook on-") {
			t.Errorf("an example fails:\n%s", &r.stderr)
		}
		return r.stderr.String()
	}
	write("freeze", "quarter's end <!channel>")
	contains(t, run(exit.Aborted), "no changes of "+c.name+" now: quarter's end")
	contains(
		t, fmt.Sprint(got["/ticket"]), "Schema change of "+c.name+": aborted", "\n    error: ",
		"quarter's end <!channel>", `DEFAULT '"\\'`, "nothing is left", "authorization:Bearer sesame",
	)
	contains(t, fmt.Sprint(got["/pager"]), "event_action:trigger", "dedup_key:midstream", "severity:error")
	contains(t, fmt.Sprint(got["/chat"]), "text:midstream: "+c.name, "aborted", "&lt;!channel&gt;")
	if err := os.Remove(filepath.Join(folder, "freeze")); err != nil {
		t.Fatal(err)
	}
	run(exit.Done)
	contains(t, fmt.Sprint(got["/pager"]), "event_action:resolve")
	contains(t, fmt.Sprint(got["/chat"]), "done", ".html")
}

// TestLogFile: what happens stands in the log with its fields, in both forms, and not on standard output.
func TestLogFile(t *testing.T) {
	sideBySide(t)
	c := toControl(t, 100)
	path := filepath.Join(t.TempDir(), "midstream.log")
	run := func(want int, alter string, more ...string) (stdout, stderr string) {
		t.Helper()
		code, stdout, stderr := midstream(
			t,
			slices.Concat([]string{"run", "--method=shadow", "--quiet", "ALTER TABLE " + c.name + " " + alter}, more, flagsTo(t, c.i))...)
		if code != want {
			t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
		}
		return stdout, stderr
	}
	run(exit.Done, "ADD COLUMN c INT", "--log-file="+path, "--log-format=json", "--lock-work=2s")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]map[string]any{}
	for line := range strings.Lines(string(text)) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if fields["table"] != c.name || fields["level"] != "INFO" || fields["server"] == "" {
			t.Errorf("it says %s", line)
		}
		said[fmt.Sprint(fields["event"], fields["phase"])] = fields
	}
	if said["phasecopy"]["msg"] == nil || said["swapped<nil>"]["attempts"] != 1. || said["result"]["msg"] != "run ends: done" {
		t.Errorf("it says\n%s", text)
	}
	stdout, stderr := run(exit.Aborted, "ADD COLUMN d INT", "--log-file=-", "--hook-veto=abort", "--hook=before-cutover="+program(t, "exit 1"))
	contains(
		t, stderr, "level=INFO msg=\"copy: copying rows and applying changes\" table="+c.name,
		"level=ERROR msg=\"run ends: aborted: aborted by the hook before-cutover=", "outcome=aborted", "exit_code=12",
	)
	if strings.Contains(stdout, "level=") {
		t.Errorf("it is on standard output:\n%s", stdout)
	}
	_, stderr = run(exit.WrongUsage, "ADD COLUMN e INT", "--log-file=/dev/null/x")
	contains(t, stderr, "write the log", "nothing was written", "--log-file")
}
