package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"midstream/internal/fleet/changeset"
	"midstream/internal/fleet/rollout"
	"midstream/temporal/flow"
	"midstream/temporal/lab"
)

// TestALargeSetContinuesAsNew: a set of 2,000 members (200 with -short) is driven by a real Temporal server through several runs of its
// workflow, of 150 events each, while the worker and an agent are killed. Nothing runs twice, nothing is lost, and each run replays.
func TestALargeSetContinuesAsNew(t *testing.T) {
	n, events, least := 2000, 150, 3
	if testing.Short() {
		n, events, least = 200, 60, 2
	}
	members := twoCells(n)
	f := newFleet(t, members)
	for _, name := range parts() {
		f.start(name)
	}
	set, err := changeset.Parse("set.yaml", []byte("id: large\nstatement: ALTER TABLE t ADD COLUMN n INT\nselector: \"*\"\nwaves:\n"+
		"  - {name: canary, selector: server=s00}\n  - {name: a tenth, share: 10%}\n  - {name: rest}\nlimits: {all: 100}\nretry: {wait: 1s}\n"))
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]map[string]string{}
	for name, m := range members {
		labels[name] = m.Labels
	}
	in, err := flow.First(set, labels, flow.Tuning{Events: events})
	if err != nil {
		t.Fatal(err)
	}
	c := f.client()
	began := time.Now()
	options := client.StartWorkflowOptions{ID: flow.SetID(set.ID), TaskQueue: flow.Queue}
	if _, err := c.ExecuteWorkflow(t.Context(), options, flow.SetWorkflow, in); err != nil {
		t.Fatal(err)
	}
	peak := 0
	for _, victim := range []string{"worker", "agent a", "worker"} {
		time.Sleep(5 * time.Second)
		peak = max(peak, f.mostMemory("worker"))
		f.kill(victim)
		f.start(victim)
	}
	out := ""
	for end := began.Add(15 * time.Minute); ; time.Sleep(time.Second) {
		if _, out = f.call("status", set.ID); strings.Contains(out, set.ID+": "+string(rollout.PhaseFinished)+"\n") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the set is not finished: %s", out)
		}
	}
	took := time.Since(began)
	peak = max(peak, f.mostMemory("worker"))
	f.right(n, 1, 0)
	runs, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = '%s'", flow.SetID(set.ID))})
	if err != nil {
		t.Fatal(err)
	}
	if len(runs.GetExecutions()) < least {
		t.Errorf("%d runs", len(runs.GetExecutions()))
	}
	for _, run := range runs.GetExecutions() {
		f.replayRun(set.ID, run.GetExecution().GetRunId())
	}
	t.Logf("%d members in %s, %d runs of the workflow; the worker had at most %d MiB", n, took.Round(time.Second), len(runs.GetExecutions()), peak>>10)
}

// TestOrdersOfAKilledAgentAreSentAgain: an agent is killed while it gives an order. The next one gets the order within a minute, not only
// when the order would have run out of its time.
func TestOrdersOfAKilledAgentAreSentAgain(t *testing.T) {
	members := twoCells(4)
	members["s00"].Script = "hang"
	f := newFleet(t, members)
	for _, name := range parts() {
		f.start(name)
	}
	f.submit("id: hangs\nstatement: ALTER TABLE t ADD COLUMN n INT\nselector: \"*\"\nwaves:\n  - {name: all}\n")
	for hangs := true; hangs; time.Sleep(100 * time.Millisecond) {
		world, err := lab.Open(f.folder, "")
		if err != nil {
			t.Fatal(err)
		}
		hangs = world.Members()["s00"].Script != ""
	}
	f.kill("agent a")
	f.start("agent a")
	began := time.Now()
	f.until("hangs", rollout.PhaseFinished)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the order came again after %s", took)
	}
	f.right(4, 1, 0)
}

// mostMemory is the most memory that a process has had so far, in KiB.
func (f *fleet) mostMemory(name string) (kib int) {
	f.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.running[name].Process.Pid))
	if err != nil {
		f.t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(text), "VmHWM:")
	_, _ = fmt.Sscan(line, &kib)
	return kib
}
