package lab_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"

	"midstream/internal/fleet/changeset"
	"midstream/internal/fleet/rollout"
	"midstream/temporal/flow"
)

// mostPayload is the most bytes of a payload in Temporal.
const mostPayload = 2 << 20

func large(t *testing.T, n int) (map[string]map[string]string, rollout.Set) {
	t.Helper()
	servers := map[string]map[string]string{}
	for i := range n {
		name := fmt.Sprintf("shard-%04d", i)
		servers[name] = map[string]string{"server": name, "cell": fmt.Sprint("eu", i%40), "env": "prod", "app": "shop", "shard": fmt.Sprintf("%04d", i),
			"host": fmt.Sprintf("db%04d", i/4)}
	}
	set, err := changeset.Parse("set.yaml", []byte("id: large\n"+head+"waves:\n  - {name: canary, selector: server=shard-0000}\n  - {name: a tenth, share: 10%}\n"+
		"  - {name: rest}\nlimits: {all: 200, per_host: 1}\nundo: 24h\n"))
	if err != nil {
		t.Fatal(err)
	}
	return servers, set
}

func payload(t *testing.T, what string, value any) int {
	t.Helper()
	p, err := converter.GetDefaultDataConverter().ToPayload(value)
	if err != nil {
		t.Fatal(err)
	}
	n := len(p.GetData())
	t.Logf("%s: %d bytes", what, n)
	if n > mostPayload {
		t.Errorf("%s has %d bytes; Temporal takes %d", what, n, mostPayload)
	}
	return n
}

// worst is a state in which every member has all that it may have.
func worst(t *testing.T, n int) flow.Carried {
	t.Helper()
	servers, set := large(t, n)
	state, err := rollout.Begin(set, servers)
	if err != nil {
		t.Fatal(err)
	}
	c := flow.Carried{State: state, Plans: map[string]flow.Planned{}, Shown: map[string]rollout.Step{}}
	now := first()
	for i := range c.State.Members {
		m := &c.State.Members[i]
		m.Step, m.Outcome, m.Swapped, m.SwappedAt = rollout.StepDone, rollout.OutcomeFit, i+1, now.Add(time.Duration(i)*1234567890)
		m.Attempt, m.Version, m.Obeyed = i%3+1, uint64(i*7%91), 2
		m.Why = flow.Cut(fmt.Sprintf("Duplicate entry '%d-%x' for key 'orders.by_note' at %s, and so on, %0280d", i*7919, i*104729, m.Server, i))
		m.Last = rollout.Action{Verb: rollout.VerbRelease, Set: "large", Server: m.Server, Order: 2, Attempt: 1, Until: now}
		c.Plans[m.Server] = flow.Planned{Server: m.Server, Outcome: rollout.OutcomeFit, Definition: fmt.Sprintf("%012x", i%3)}
		c.Shown[m.Server] = m.Step
	}
	c.Worlds = map[string]flow.World{}
	for name, labels := range servers {
		agents := flow.QueueOf(labels)
		if c.Worlds[agents].Servers == nil {
			c.Worlds[agents] = flow.World{Servers: map[string]map[string]string{}}
		}
		c.Worlds[agents].Servers[name] = labels
	}
	return c
}

// TestPayloads: no message is above Temporal's limit of 2 MB, with 2,000 members and with the most that a set may have.
func TestPayloads(t *testing.T) {
	for _, n := range []int{2000, flow.MostMembers} {
		servers, set := large(t, n)
		in, err := flow.First(set, servers, flow.Tuning{})
		if err != nil {
			t.Fatal(err)
		}
		payload(t, fmt.Sprintf("%d members: input of a new set", n), in)
		c := worst(t, n)
		text, err := json.Marshal(c.State)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d members: the state in JSON: %d bytes", n, len(text))
		packed, err := flow.Pack(c)
		if err != nil {
			t.Fatal(err)
		}
		payload(t, fmt.Sprintf("%d members: input of a run that continues", n), flow.Input{Rules: in.Rules, Packed: packed})
		payload(t, fmt.Sprintf("%d members: answer to status", n), flow.Status{Rules: in.Rules, Packed: packed})
		known, reports := map[string]uint64{}, []rollout.Report{}
		for _, m := range c.State.Members {
			known[m.Server] = m.Version
			r := rollout.Report{Server: m.Server, Version: m.Version, Order: 2, Attempt: 1, Status: rollout.StatusFailed, Why: m.Why}
			reports = append(reports, r)
		}
		payload(t, fmt.Sprintf("%d members of one agent: a watch", n), flow.Watch{Rules: in.Rules, Agents: "eu1", Known: known})
		world, err := flow.Pack(flow.World{Servers: servers})
		if err != nil {
			t.Fatal(err)
		}
		payload(t, fmt.Sprintf("%d servers of one agent: reports of a signal", n),
			flow.Reported{Agents: "eu1", Reports: reports[:flow.MostReports], World: world})
		r := c.State.Result()
		payload(t, fmt.Sprintf("%d members: result", n), flow.Result{Changed: len(r.Changed), Unchanged: r.Changed[:1000], Unknown: r.Changed[:1000]})
	}
}
