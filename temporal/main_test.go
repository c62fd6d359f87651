package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"midstream/internal/fleet/rollout"
	"midstream/temporal/activities"
	"midstream/temporal/flow"
	"midstream/temporal/lab"
	"midstream/temporal/verbs"
)

// worldVariable has the folder of the members of a process that is this test as midstream-fleet.
const worldVariable = "MIDSTREAM_FLEET_WORLD"

var (
	kills  = flag.Int("kills", 6, "kills of TestKilled")
	record = flag.String("record", "", "file that gets the history of TestKilled")
	seed   = flag.Uint64("seed", uint64(time.Now().Unix()), "seed of TestKilled")
)

func TestMain(m *testing.M) {
	folder := os.Getenv(worldVariable)
	if folder == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := verbs.Main(ctx, env(), func(a verbs.Agent) (activities.Members, error) { return lab.Open(folder, a.Queue) })
	stop()
	os.Exit(code)
}

// fleet are the processes of a test: a Temporal server, a worker, and agents, over members in files.
type fleet struct {
	t       *testing.T
	folder  string
	at      string
	running map[string]*exec.Cmd
	// program is midstream-fleet: this one, unless it was built. agents has more arguments of agents, by their queue.
	program string
	agents  map[string][]string
}

func newFleet(t *testing.T, members map[string]*lab.Member) *fleet {
	t.Helper()
	f := &fleet{t: t, folder: t.TempDir(), running: map[string]*exec.Cmd{}, program: os.Args[0], agents: map[string][]string{}}
	if err := lab.New(members).Keep(f.folder); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.at = listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for name := range f.running {
			f.kill(name)
		}
	})
	return f
}

// parts are the processes that may be killed.
func parts() []string { return []string{"dev", "worker", "agent a", "agent b"} }

// arguments are those of a process.
func (f *fleet) arguments(name string) []string {
	kind, queue, _ := strings.Cut(name, " ")
	switch kind {
	case "dev":
		return []string{"dev", "--file", filepath.Join(f.folder, "temporal.db"), "--listen", f.at}
	case "agent":
		return append([]string{"agent", "--queue", queue, "--temporal", f.at}, f.agents[queue]...)
	}
	return []string{kind, "--temporal", f.at}
}

// command is a call of midstream-fleet.
func (f *fleet) command(args ...string) *exec.Cmd {
	cmd := exec.Command(f.program, args...)
	cmd.Env = append(os.Environ(), worldVariable+"="+f.folder)
	return cmd
}

// start starts a process, and waits until it is ready. Without a server, workers end; they are started again.
func (f *fleet) start(name string) {
	f.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		cmd := f.command(f.arguments(name)...)
		var complaint strings.Builder
		cmd.Stderr = &complaint
		out, err := cmd.StdoutPipe()
		if err != nil {
			f.t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			f.t.Fatal(err)
		}
		if bufio.NewScanner(out).Scan() {
			f.running[name] = cmd
			return
		}
		f.t.Logf("%s: %v: %s", name, cmd.Wait(), complaint.String())
	}
	f.t.Fatalf("%s does not start", name)
}

func (f *fleet) kill(name string) {
	cmd := f.running[name]
	delete(f.running, name)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// revive starts processes again that have killed themselves by the script of a member.
func (f *fleet) revive() {
	for _, name := range parts() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", f.running[name].Process.Pid))
		if _, state, is := strings.Cut(string(stat), ") "); err == nil && is && strings.HasPrefix(state, "Z") {
			f.t.Logf("%s %s has died", time.Now().Format("05.000"), name)
			f.kill(name)
			f.start(name)
		}
	}
}

// call calls a verb that asks, and returns its exit code and its output.
func (f *fleet) call(args ...string) (int, string) {
	f.t.Helper()
	out, err := f.command(append(args, "--temporal", f.at)...).CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		f.t.Fatal(err)
	}
	if failed != nil {
		return failed.ExitCode(), string(out)
	}
	return 0, string(out)
}

func (f *fleet) client() client.Client {
	f.t.Helper()
	c, err := client.Dial(client.Options{HostPort: f.at, Logger: silent{}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(c.Close)
	return c
}

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

// submit writes a set and an inventory command, and submits the set.
func (f *fleet) submit(rules string) {
	f.t.Helper()
	world, err := lab.Open(f.folder, "")
	if err != nil {
		f.t.Fatal(err)
	}
	account := filepath.Join(f.folder, "account.cnf")
	var servers []string
	for name, labels := range world.Labels() {
		labels = maps.Clone(labels)
		delete(labels, "server") // it has that by its name
		text, err := json.Marshal(map[string]any{"name": name, "file": account, "labels": labels})
		if err != nil {
			f.t.Fatal(err)
		}
		servers = append(servers, string(text))
	}
	list, set := filepath.Join(f.folder, "inventory"), filepath.Join(f.folder, "set.yaml")
	for path, text := range map[string]string{account: "[client]\n", list: `{"servers": [` + strings.Join(servers, ",") + `]}`, set: rules} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
	if code, out := f.call("submit", set, "--inventory-command", "cat "+list); code != 0 {
		f.t.Fatalf("submit: %d: %s", code, out)
	}
}

func twoCells(n int) map[string]*lab.Member {
	members := map[string]*lab.Member{}
	for i := range n {
		members[fmt.Sprintf("s%02d", i)] = &lab.Member{Labels: map[string]string{"cell": string(rune('a' + i%2))}}
	}
	return members
}

// TestKilled: server, worker and agents are killed at any moment, and started again. Nothing runs twice, and nothing is lost.
func TestKilled(t *testing.T) {
	n := max(10, *kills) // with one member at a time, the set is at work for longer than the kills take
	members := twoCells(n)
	members["s03"].Script, members["s04"].Script = "fail:1", "lost:1"
	f := newFleet(t, members)
	for _, name := range parts() {
		f.start(name)
	}
	var killed []time.Time
	f.submit("id: killed\nstatement: ALTER TABLE t ADD COLUMN n INT\nselector: \"*\"\nwaves:\n" +
		"  - {name: canary, selector: server=s00, soak: 2s}\n  - {name: half, share: 50%, soak: 3s}\n  - {name: rest}\n" +
		"limits: {all: 1}\nretry: {wait: 1s}\nundo: 1h\n")
	random := rand.New(rand.NewPCG(*seed, 0))
	t.Logf("seed %d", *seed)
	for range *kills {
		time.Sleep(time.Duration(random.IntN(2500)) * time.Millisecond)
		victim := parts()[random.IntN(4)]
		t.Logf("%s kill %s", time.Now().Format("05.000"), victim)
		killed = append(killed, time.Now())
		f.kill(victim)
		time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
		f.start(victim)
	}
	f.until("killed", rollout.PhaseFinished)
	f.right(n, 1, 0)
	f.atWork("killed", killed)
	killed = nil
	if code, out := f.call("undo", "killed"); code != 0 {
		t.Fatalf("undo: %d: %s", code, out)
	}
	for range *kills / 3 {
		victim := parts()[random.IntN(4)]
		t.Logf("%s kill %s", time.Now().Format("05.000"), victim)
		killed = append(killed, time.Now())
		f.kill(victim)
		f.start(victim)
		time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
	}
	f.until("killed", rollout.PhaseUndone)
	f.right(n, 1, 1)
	f.atWork("killed", killed)
	f.shown(n, "WorkflowType = '%s' AND MidstreamSet = 'killed' AND MidstreamState = 'undone'", flow.CardWorkflow)
	f.replay("killed")
}

// atWork fails unless most kills came before a set had ended.
func (f *fleet) atWork(set string, kills []time.Time) {
	f.t.Helper()
	ended, n := f.state(set).Ended, 0
	for _, at := range kills {
		if at.Before(ended) {
			n++
		}
	}
	f.t.Logf("%d of %d kills came before the set had ended", n, len(kills))
	if n < len(kills)*3/4 {
		f.t.Error("that is not enough")
	}
}

// state is that of a set.
func (f *fleet) state(set string) rollout.State {
	f.t.Helper()
	value, err := f.client().QueryWorkflow(f.t.Context(), flow.SetID(set), "", flow.StatusQuery)
	var status flow.Status
	if err == nil {
		err = value.Get(&status)
	}
	var carried flow.Carried
	if err == nil {
		err = status.Packed.Unpack(&carried)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return carried.State
}

// replay replays the history of a set: the workflow decides the same again. With -record, it keeps the history.
func (f *fleet) replay(set string) {
	f.t.Helper()
	f.replayRun(set, "")
}

// replayRun replays one run of a set; "" is the last one.
func (f *fleet) replayRun(set, run string) {
	f.t.Helper()
	var all history.History
	events := f.client().GetWorkflowHistory(f.t.Context(), flow.SetID(set), run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			f.t.Fatal(err)
		}
		all.Events = append(all.Events, event)
	}
	f.t.Logf("%d events, %d bytes", len(all.Events), proto.Size(&all))
	if err := replayer().ReplayWorkflowHistory(nil, &all); err != nil {
		f.t.Errorf("the replay differs: %v", err)
	}
	if *record == "" {
		return
	}
	text, err := protojson.Marshal(&all)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(*record, text, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func replayer() worker.WorkflowReplayer {
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(flow.Set, workflow.RegisterOptions{Name: flow.SetWorkflow})
	return r
}

// TestRecordedHistories: sets that began with an earlier build go on. If a change of the decisions breaks it, give the
// workflow another number (flow.SetWorkflow), and record: go test -run TestKilled . -args -record testdata/NAME.json
func TestRecordedHistories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no history", err)
	}
	for _, file := range files {
		if err := replayer().ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// until waits until a set is in a phase.
func (f *fleet) until(set string, phase rollout.Phase) {
	f.t.Helper()
	var out string
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		f.revive()
		if _, out = f.call("status", set); strings.Contains(out, set+": "+string(phase)+"\n") {
			return
		}
	}
	f.t.Fatalf("the set is not %s: %s", phase, out)
}

// right checks what has happened to the members.
func (f *fleet) right(n, swaps, undos int) {
	f.t.Helper()
	world, err := lab.Open(f.folder, "")
	if err != nil {
		f.t.Fatal(err)
	}
	for name, m := range world.Members() {
		if m.Swaps != swaps || m.Undos != undos {
			f.t.Errorf("%s swapped %d times, and was undone %d times: %v", name, m.Swaps, m.Undos, m.Seen)
		}
		n--
	}
	if n != 0 {
		f.t.Errorf("%d members are missing", n)
	}
	for _, wrong := range world.Wrong() {
		f.t.Error(wrong)
	}
}

// shown waits until the search attributes show so many workflows.
func (f *fleet) shown(want int, query string, args ...any) {
	f.t.Helper()
	c := f.client()
	query = fmt.Sprintf(query, args...)
	found := int64(-1)
	for range 150 {
		n, err := c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		if err == nil {
			if found = n.GetCount(); found == int64(want) {
				return
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
	f.t.Errorf("%d workflows, not %d, have %s", found, want, query)
}

// attributes checks the search attributes of a set and of its members: set, wave and state, and of a member its server.
func (f *fleet) attributes(set, wave string, state rollout.Phase, members map[string]string, step rollout.Step) {
	f.t.Helper()
	f.shown(1, "WorkflowType = '%s' AND MidstreamSet = '%s' AND MidstreamWave = '%s' AND MidstreamState = '%s'", flow.SetWorkflow, set, wave, state)
	f.shown(len(members), "WorkflowType = '%s' AND MidstreamSet = '%s'", flow.CardWorkflow, set) // and no other ones
	for server, wave := range members {
		f.shown(1, "WorkflowType = '%s' AND MidstreamSet = '%s' AND MidstreamWave = '%s' AND MidstreamServer = '%s' AND MidstreamState = '%s'",
			flow.CardWorkflow, set, wave, server, step)
	}
}

// TestVerbs: the verbs ask, and their errors have what, why and next. Temporal's search attributes show the set and its members.
func TestVerbs(t *testing.T) {
	members := twoCells(4)
	f := newFleet(t, members)
	if code, out := f.call("status"); code != 1 || !strings.Contains(out, "next") {
		t.Errorf("without a server: %d: %s", code, out)
	}
	for _, name := range parts() {
		f.start(name)
	}
	f.submit("id: verbs\nstatement: ALTER TABLE t ADD COLUMN n INT\nselector: \"*\"\nwaves:\n  - {name: canary, selector: server=s00, approve: true}\n" +
		"  - {name: rest}\nswap: {when: released}\n")
	wait := func(text string) {
		t.Helper()
		var out string
		for range 100 {
			if _, out = f.call("status", "verbs", "--verbose"); strings.Contains(out, text) {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatalf("no %q: %s", text, out)
	}
	wait("1 ready")
	f.attributes("verbs", "canary", rollout.PhaseRunning, map[string]string{"s00": "canary"}, rollout.StepReady)
	for _, c := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{"approve", "verbs", "canary"}, 19, "it can be approved once it has swapped"},
		{[]string{"approve", "none", "canary"}, 18, "no such set"},
		{[]string{"approve", "verbs"}, 10, "expected"},
		{[]string{"freeze", "verbs"}, 10, "--reason"},
		{[]string{"freeze", "verbs", "--reason", "a sale", "--server", "s00"}, 0, "server s00"},
		{[]string{"release", "verbs"}, 0, "takes the release"},
		{[]string{"status", "verbs"}, 0, "frozen: server s00"},
		{[]string{"unfreeze", "verbs", "--server", "s00"}, 0, "server s00"},
	} {
		if code, out := f.call(c.args...); code != c.code || !strings.Contains(out, c.out) {
			t.Errorf("%v: %d: %s", c.args, code, out)
		}
	}
	wait("to approve")
	if code, out := f.call("approve", "verbs", "canary"); code != 19 || !strings.Contains(out, "another person must approve") {
		t.Errorf("the author approves: %d: %s", code, out)
	}
	err := f.client().SignalWorkflow(t.Context(), flow.SetID("verbs"), "", string(rollout.AskApprove), flow.Request{ID: "x", Wave: "canary", By: "bert"})
	if err != nil {
		t.Fatal(err)
	}
	wait("3 ready")
	if code, out := f.call("release", "verbs"); code != 0 || !strings.Contains(out, "takes the release") { // the first one was of the canary
		t.Errorf("release of the rest: %d: %s", code, out)
	}
	f.until("verbs", rollout.PhaseFinished)
	f.attributes("verbs", "rest", rollout.PhaseFinished, map[string]string{"s00": "canary", "s01": "rest", "s02": "rest", "s03": "rest"}, rollout.StepDone)
	if code, out := f.call("status"); code != 0 || !slices.Contains(strings.Fields(out), "finished") {
		t.Errorf("the list: %d: %s", code, out)
	}
	if code, out := f.call("submit", filepath.Join(f.folder, "set.yaml"), "--inventory-command", "cat "+filepath.Join(f.folder, "inventory")); code != 0 ||
		!strings.Contains(out, "exists with the same rules") {
		t.Errorf("again: %d: %s", code, out)
	}
	f.right(4, 1, 0)
}
