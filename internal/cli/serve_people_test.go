package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/ops/queue"
)

// people are tokens of persons for a service of a test.
type people struct {
	*queueing
	file string
}

// peopled is a service with tokens for persons by their names and roles.
func peopled(t *testing.T, rows int, roles map[string]string) *people {
	t.Helper()
	p := &people{queueing: toQueue(t, rows)}
	p.file = filepath.Join(p.home, "tokens")
	p.flags = append(p.flags, "--tokens="+p.file)
	for name, role := range roles {
		p.add(name, role)
	}
	return p
}

// add makes a token.
func (p *people) add(name, roles string) {
	p.t.Helper()
	code, stdout, stderr := midstream(p.t, "token", name, "--role="+roles, "--tokens="+p.file)
	if code != exit.Done {
		p.t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if err := os.WriteFile(filepath.Join(p.home, name), []byte(stdout), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// as runs a verb with a person's token.
func (p *people) as(name, verb string, args ...string) (code int, stdout, stderr string) {
	p.t.Helper()
	return p.ask(verb, append([]string{"--token-file=" + filepath.Join(p.home, name)}, args...)...)
}

// does runs a verb with a person's token, which must succeed.
func (p *people) does(name, verb string, args ...string) string {
	p.t.Helper()
	code, stdout, stderr := p.as(name, verb, args...)
	if code != exit.Done {
		p.t.Fatalf("%s %s: exit code %d\n%s\n%s", verb, args, code, stdout, stderr)
	}
	return stdout
}

// sees waits until a change is so for a person.
func (p *people) sees(name, id string, is func(queue.Change) bool) (c queue.Change) {
	p.t.Helper()
	until(p.t, func() string { return p.daemon.stdout.String() }, func() bool {
		if err := json.Unmarshal([]byte(p.does(name, "queue", id, "--json")), &c); err != nil {
			p.t.Fatal(err)
		}
		return is(c)
	})
	return c
}

// TestTokensWithRoles: each person does what the roles of the token permit; a token works without a restart of serve, and
// no longer when its line is gone. The run has the person's name.
func TestTokensWithRoles(t *testing.T) {
	sideBySide(t)
	p := peopled(t, 300, map[string]string{"ann": "submit", "ops": "operate"})
	p.serve()
	p.does("ann", "submit", "ALTER TABLE "+p.name+" ADD COLUMN c INT", "--server=main", "--id=a", held[0], held[1], held[2])
	c := p.sees("ann", "a", func(c queue.Change) bool {
		return strings.Contains(c.Why, "on hold: ")
	})
	if c.Author != "ann" || !strings.HasPrefix(c.SubmittedBy, "ann (") {
		t.Errorf("%+v", c)
	}
	code, _, stderr := p.as("ops", "submit", "ALTER TABLE "+p.name+" ADD COLUMN d INT", "--server=main")
	if code != exit.WrongUsage {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "ops lacks the role submit", "nothing was changed", "use a token with the role submit")
	p.add("eve", "see")
	if code, _, stderr := p.as("eve", "withdraw", "a"); code != exit.WrongUsage || !strings.Contains(stderr, "eve lacks the role submit") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	contains(t, p.does("eve", "queue", "a"), "ann (")
	for _, who := range []string{"ann", "ops"} {
		text, err := os.ReadFile(filepath.Join(p.home, who))
		if err != nil {
			t.Fatal(err)
		}
		status, answer := p.httpAs(strings.TrimSpace(string(text)), "POST", "/v1/changes/a/cutover", "{}")
		if want := map[string]int{"ann": 403, "ops": 200}[who]; status != want {
			t.Errorf("%s: %d %s", who, status, answer)
		}
	}
	p.sees("ann", "a", func(c queue.Change) bool { return c.State == queue.StateDone })
	story, err := os.ReadFile(p.sees("ann", "a", func(queue.Change) bool { return true }).History)
	if err != nil || !strings.Contains(string(story), `"by":"ops from 127.0.0.1, through `) {
		t.Errorf("%v\n%s", err, story)
	}
	if err := os.WriteFile(p.file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := p.as("ann", "queue"); code != exit.WrongUsage || !strings.Contains(stderr, "wrong token") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// TestTokenSaysWhatIsWrong: the verb makes no token for a wrong name or role, or a second one of the same name.
func TestTokenSaysWhatIsWrong(t *testing.T) {
	sideBySide(t)
	file := filepath.Join(t.TempDir(), "tokens")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"ann", "--role=root", "--tokens=" + file}, exit.WrongUsage, `unknown role "root"`},
		{[]string{"an n", "--role=see", "--tokens=" + file}, exit.WrongUsage, "at most 64 letters"},
		{[]string{"--role=see", "--tokens=" + file}, exit.WrongUsage, "name the person"},
		{[]string{"ann"}, exit.WrongUsage, "name a role"},
		{[]string{"ann", "--role=see,submit", "--tokens=" + file}, exit.Done, ""},
		{[]string{"Ann", "--role=all", "--tokens=" + file}, exit.Failed, "used twice"},
	} {
		code, _, stderr := midstream(t, append([]string{"token"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit code %d\n%s", c.args, code, stderr)
		}
	}
}

// TestL4_AReadyChangeSwapsWhenItIsReleased: a held change is ready once its tables were compared, with the age of the proof,
// also after serve was killed. One that still copies is not released; who lacks the role does not release.
func TestL4_AReadyChangeSwapsWhenItIsReleased(t *testing.T) {
	sideBySide(t)
	p := peopled(t, 2000, map[string]string{"ann": "submit", "ops": "operate"})
	p.serve()
	p.does("ann", "submit", "ALTER TABLE "+p.name+" ADD COLUMN c INT", "--server=main", "--id=a", held[0], held[1], held[2], "--option=copy-share=0%")
	p.sees("ann", "a", func(c queue.Change) bool { return c.State == queue.StateRunning })
	until(t, func() string { return p.daemon.stdout.String() }, func() bool { // it has its socket by then
		code, _, stderr := p.as("ops", "release", "a")
		return code == exit.NotNow && strings.Contains(stderr, "it is not ready: its run is in the phase copy")
	})
	contains(t, p.does("ann", "queue", "--state=ready"), "No change is ready.")
	token, err := os.ReadFile(filepath.Join(p.home, "ops"))
	if err != nil {
		t.Fatal(err)
	}
	if status, text := p.httpAs(strings.TrimSpace(string(token)), "POST", "/v1/changes/a/throttle", `{"share":"100%"}`); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	ready := p.sees("ann", "a", func(c queue.Change) bool { return c.Ready != nil && c.Ready.VerifiedAt != nil })
	if ready.Ready.AgeMS == nil || ready.State != queue.StateRunning || !strings.Contains(ready.Next, "midstream release") {
		t.Errorf("%+v, %+v", ready, ready.Ready)
	}
	contains(t, p.does("ann", "queue", "--state=ready"), "running", "ready, compared ")
	p.daemon.await(&p.daemon.stdout, "change a ("+p.name+" on main) is ready")
	_, metrics := p.httpAs(strings.TrimSpace(string(token)), "GET", "/metrics", "")
	contains(t, metrics, `midstream_change_proof_age_seconds{change="a",server="main",table="`+p.name+`"}`, `midstream_changes{state="running"} 1`)
	p.kill()
	p.serve()
	if now := p.sees("ann", "a", func(c queue.Change) bool { return c.Ready != nil }); !now.Ready.Since.Equal(ready.Ready.Since) {
		t.Errorf("%+v, %+v", now.Ready, ready.Ready)
	}
	if code, _, stderr := p.as("ann", "release", "a"); code != exit.WrongUsage || !strings.Contains(stderr, "ann lacks the role operate") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	until(t, func() string { return p.daemon.stdout.String() }, func() bool { code, _, _ := p.as("ops", "release", "a"); return code == exit.Done })
	if c := p.sees("ann", "a", func(c queue.Change) bool { return c.State.Over() }); c.State != queue.StateDone || c.Ready != nil {
		t.Errorf("%+v", c)
	}
}

// TestAChangeWaitsForItsApproval: with --approve no run begins before another person has approved the change, not even after
// serve was killed.
func TestAChangeWaitsForItsApproval(t *testing.T) {
	sideBySide(t)
	p := peopled(t, 300, map[string]string{"ann": "submit,approve", "bob": "approve"})
	p.serve("--approve")
	p.does("ann", "submit", "ALTER TABLE "+p.name+" ADD COLUMN c INT", "--server=main", "--id=a")
	contains(t, p.does("ann", "queue", "--state=proposed"), "proposed", "it waits for the approval of a person who is not ann")
	code, _, stderr := p.as("ann", "approve", "a")
	if code != exit.WrongUsage {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "you are its author")
	p.kill()
	p.serve()
	if c := p.sees("bob", "a", func(queue.Change) bool { return true }); c.State != queue.StateProposed {
		t.Errorf("%+v", c)
	}
	contains(t, p.does("bob", "approve", "a"), " a ")
	c := p.sees("ann", "a", func(c queue.Change) bool { return c.State.Over() })
	if c.State != queue.StateDone || c.Approval == nil || !strings.HasPrefix(c.Approval.By, "bob from") {
		t.Errorf("%+v", c)
	}
	contains(t, p.does("ann", "queue", "a"), "approved  ")
}

// TestTheQueueIsFollowed: queue --follow prints what happens, also across a serve that was killed; audit lists who did it.
func TestTheQueueIsFollowed(t *testing.T) {
	sideBySide(t)
	p := peopled(t, 300, map[string]string{"ann": "submit", "ops": "operate"})
	p.serve()
	address := strings.TrimPrefix(p.url, "http://")
	cmd := command(t, "queue", "--follow", "--to="+p.url, "--token-file="+filepath.Join(p.home, "ann"))
	follower := start(t, cmd)
	p.does("ann", "submit", "ALTER TABLE "+p.name+" ADD COLUMN c INT", "--server=main", "--id=a", held[0], held[1], held[2])
	follower.await(&follower.stdout, "is ready")
	p.kill()
	p.flags = append(p.flags, "--listen="+address)
	p.serve()
	until(t, func() string { return p.daemon.stdout.String() }, func() bool { code, _, _ := p.as("ops", "release", "a"); return code == exit.Done })
	follower.await(&follower.stdout, "is done")
	follower.interrupt()
	if code := follower.exit(); code != exit.Done {
		t.Errorf("exit code %d\n%s", code, &follower.stderr)
	}
	told := follower.stdout.String()
	for _, state := range []string{"is ready", "is done"} { // it may begin to follow after the start of the run
		if strings.Count(told, "("+p.name+" on main)  "+state) < 1 {
			t.Errorf("no %q in\n%s", state, told)
		}
	}
	contains(t, p.does("ann", "audit", "a"), "release  by ops from 127.0.0.1", "submit  by ann from 127.0.0.1")
}

// TestAChangeBeginsNotBeforeItsTime: the run begins once the time has come, also after serve was killed in between.
func TestAChangeBeginsNotBeforeItsTime(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 300)
	q.serve()
	at := time.Now().Add(6 * time.Second)
	q.submit("a", q.name+" ADD COLUMN c INT", "--not-before="+at.Format(time.RFC3339Nano), "--window=Mon-Sun")
	contains(t, q.at("a").Why, "it begins not before ")
	q.kill()
	q.serve()
	if c := q.becomes("a", queue.StateDone); c.Began == nil || c.Began.Before(at) || c.Began.After(at.Add(20*time.Second)) {
		t.Errorf("%+v, not before %s", c, at)
	}
	code, _, stderr := q.ask("submit", "ALTER TABLE "+q.name+" ADD COLUMN d INT", "--server=main", "--window=sometimes")
	if code != exit.WrongUsage || !strings.Contains(stderr, "Tue-Thu 09:00-16:00") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// TestServeNamesTheServerOfApprove: a value of --approve behind a blank is refused, with the way to write it.
func TestServeNamesTheServerOfApprove(t *testing.T) {
	sideBySide(t)
	code, _, stderr := midstream(t, "serve", "--server=main=none.cnf", "--approve", "main")
	if code != exit.WrongUsage {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, `serve takes no arguments, got "main"; for one server, write --approve=main`, "midstream help serve")
}

// TestAnUrgentChangeOvertakes: when a place of --limit becomes free, the waiting change with the higher priority begins.
func TestAnUrgentChangeOvertakes(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 300)
	q.serve()
	q.submit("a", q.name+" ADD COLUMN c INT", held...)
	q.holds("a")
	q.submit("b", q.database()+".u ADD COLUMN d INT")
	q.submit("c", q.name+" ADD COLUMN d INT", "--priority=5")
	if status, text := q.http("POST", "/v1/changes/a/cutover", "{}"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if b, c := q.becomes("b", queue.StateDone), q.becomes("c", queue.StateDone); !c.Began.Before(*b.Began) {
		t.Errorf("%s, %s", b.Began, c.Began)
	}
}

// TestAFrozenServerSwapsNothing: while a server is frozen, no change begins there, and a run at work copies and does not swap, also
// after serve was killed. Then it swaps by itself.
func TestAFrozenServerSwapsNothing(t *testing.T) {
	sideBySide(t)
	p := peopled(t, 300, map[string]string{"ann": "submit", "ops": "operate"})
	executing(t, p.i, p.database())("CREATE TABLE v LIKE t")
	p.serve()
	contains(t, p.does("ops", "freeze"), "No server is frozen.")
	if code, _, stderr := p.as("ann", "freeze", "--server=main", "--reason=x"); code != exit.Refused && !strings.Contains(stderr, "role operate") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	p.does("ann", "submit", "ALTER TABLE "+p.name+" ADD COLUMN c INT", "--server=main", "--id=a", held[0], held[1], held[2])
	a := p.sees("ann", "a", func(c queue.Change) bool { return c.Ready != nil && c.Why != "" })
	if strings.Contains(a.Why, "midstream cutover") || !strings.Contains(a.Why, "on hold: until midstream release") { // it is for people elsewhere
		t.Errorf("it is %s", a.Why)
	}
	contains(t, p.does("ops", "freeze", "--server=main", "--reason=incident 4711"), "main is frozen: since ", "by ops from 127.0.0.1: incident 4711")
	if code, _, stderr := p.as("ops", "release", "a"); code != exit.NotNow {
		t.Errorf("exit code %d\n%s", code, stderr)
	} else {
		text := strings.Join(strings.Fields(stderr), " ")
		contains(t, text, "the server is frozen by ops from 127.0.0.1: incident 4711", "midstream unfreeze ", "--server=main ends that")
	}
	p.does("ann", "submit", "ALTER TABLE "+p.database()+".v ADD COLUMN c INT", "--server=main", "--id=b")
	midstream(t, "cutover", "--control-dir="+p.folder, p.name) // the run's own word, past the service
	p.kill()
	p.serve()
	p.sees("ann", "a", func(c queue.Change) bool { return strings.Contains(c.Why, "it does not swap: the server is frozen") })
	p.sees("ann", "b", func(c queue.Change) bool { return strings.Contains(c.Why, "the server is frozen by ops") })
	for range 10 {
		time.Sleep(200 * time.Millisecond)
		a, b := p.sees("ann", "a", func(queue.Change) bool { return true }), p.sees("ann", "b", func(queue.Change) bool { return true })
		if a.State != queue.StateRunning || b.State != queue.StateWaiting {
			t.Fatalf("a is %s (%s), and b is %s (%s)", a.State, a.Why, b.State, b.Why)
		}
		if !strings.Contains(b.Why, "the server is frozen by ops") || !strings.Contains(a.Why, "it does not swap: the server is frozen") {
			t.Fatalf("a: %s; b: %s", a.Why, b.Why)
		}
	}
	contains(t, p.does("ops", "unfreeze", "--server=main"), "main was frozen, and no longer is")
	for _, id := range []string{"a", "b"} {
		if c := p.sees("ann", id, func(c queue.Change) bool { return c.State.Over() }); c.State != queue.StateDone {
			t.Errorf("%+v", c)
		}
	}
	code, _, stderr := p.as("ops", "unfreeze", "--server=main")
	if code != exit.NotNow || !strings.Contains(strings.Join(strings.Fields(stderr), " "), "lists the servers that are frozen") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	until := time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339)
	p.does("ops", "freeze", "--server=all", "--reason=short", "--until="+until)
	p.does("ann", "submit", "ALTER TABLE "+p.name+" ADD COLUMN d INT", "--server=main", "--id=c")
	p.sees("ann", "c", func(c queue.Change) bool { return c.State == queue.StateDone })
	contains(t, p.does("ann", "audit"), "freeze  by ops", "unfreeze  by ops")
}

// TestAFreezeEndsEarlierReleases: a run that was let past its window and its file before the freeze does not swap either.
func TestAFreezeEndsEarlierReleases(t *testing.T) {
	sideBySide(t)
	p := peopled(t, 300, map[string]string{"ann": "submit,operate"})
	p.serve()
	p.does("ann", "submit", "ALTER TABLE "+p.name+" ADD COLUMN c INT", "--server=main", "--id=a", held[0], held[1], held[2])
	p.sees("ann", "a", func(c queue.Change) bool { return c.Ready != nil })
	midstream(t, "pause", "--control-dir="+p.folder, p.name)
	midstream(t, "cutover", "--now", "--control-dir="+p.folder, p.name)
	p.does("ann", "freeze", "--server=main", "--reason=incident")
	midstream(t, "resume", "--control-dir="+p.folder, p.name)
	for range 10 {
		time.Sleep(200 * time.Millisecond)
		if c := p.sees("ann", "a", func(queue.Change) bool { return true }); c.State != queue.StateRunning {
			t.Fatalf("it is %s (%s)", c.State, c.Why)
		}
	}
	p.does("ann", "unfreeze", "--server=main")
	if c := p.sees("ann", "a", func(c queue.Change) bool { return c.State.Over() }); c.State != queue.StateDone {
		t.Errorf("%+v", c)
	}
}

// TestU1_AQueueForgetsNoChangeWithAnOpenUndo: --keep-ended drops changes that have ended, but for those that can be taken back.
func TestU1_AQueueForgetsNoChangeWithAnOpenUndo(t *testing.T) {
	sideBySide(t)
	p := peopled(t, 300, map[string]string{"ann": "submit"})
	executing(t, p.i, p.database())("CREATE TABLE v LIKE t")
	p.serve("--keep-ended=2s")
	p.does("ann", "submit", "ALTER TABLE "+p.name+" ADD COLUMN c INT", "--server=main", "--id=kept", "--option=undo=1h")
	p.does("ann", "submit", "ALTER TABLE "+p.database()+".v ADD COLUMN c INT", "--server=main", "--id=gone", "--wait")
	p.await("a change to be dropped", func() bool {
		code, _, _ := p.as("ann", "queue", "gone")
		return code == exit.NoRun
	})
	time.Sleep(2 * time.Second)
	if c := p.sees("ann", "kept", func(c queue.Change) bool { return c.State.Over() }); c.Undo == nil || c.Undo.State != "open" {
		t.Errorf("%+v", c)
	}
	p.does("ann", "submit", "--undo=kept", "--wait")
	executing(t, p.i, p.database())("DROP TABLE t_undo")
}
