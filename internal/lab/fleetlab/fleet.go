package fleetlab

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"midstream/internal/fleet/driver"
	"midstream/internal/fleet/rollout"
)

// Fleet is a set, its store, and its simulated members. It is safe for concurrent use.
type Fleet struct {
	// Steps is the number of steps that a member copies for. Defaults to 3.
	Steps int
	// Stored has each state written as JSON and read again, as a store does.
	Stored bool
	// Fails has the reasons for which members fail.
	Fails map[string]string
	// Plans has the outcomes of the fleet plan that are not fit.
	Plans map[string]rollout.Outcome

	mu       sync.Mutex
	rules    rollout.Set
	state    rollout.State
	revision uint64
	now      time.Time
	members  map[string]*member
	requests []rollout.Request
	freezes  []rollout.Freeze
	driver   *driver.Driver
}

// member is a simulated member.
type member struct {
	report rollout.Report
	left   int // steps to copy
}

// New begins a set over servers with their labels.
func New(rules rollout.Set, servers map[string]map[string]string) (*Fleet, error) {
	rules = rules.Defaults()
	state, err := rollout.Begin(rules, servers)
	if err != nil {
		return nil, err
	}
	f := &Fleet{
		Steps: 3, Fails: map[string]string{}, Plans: map[string]rollout.Outcome{}, rules: rules, state: state,
		now: time.Now().UTC(), members: map[string]*member{},
	}
	for server := range servers {
		f.members[server] = &member{report: rollout.Report{Server: server, Status: rollout.StatusWaiting}}
	}
	f.driver = &driver.Driver{Set: rules, Store: f, Fleet: f}
	return f, nil
}

// Servers are servers with the labels env, shard, host and cell: four to a host, and fifty to a cell.
func Servers(n int) map[string]map[string]string {
	servers := map[string]map[string]string{}
	for i := range n {
		servers[fmt.Sprintf("shard-%04d", i)] = map[string]string{
			"env": "prod", "shard": fmt.Sprintf("%04d", i), "host": fmt.Sprintf("db%d", i/4), "cell": fmt.Sprintf("eu%d", i/50),
		}
	}
	return servers
}

// Step lets an amount of time pass, and makes a turn of the driver. It reports whether the set has ended.
func (f *Fleet) Step(ctx context.Context, passes time.Duration) (ended bool, err error) {
	f.mu.Lock()
	f.now = f.now.Add(passes)
	for _, m := range f.members {
		if m.report.Status != rollout.StatusRunning {
			continue
		}
		if m.left--; m.left > 0 {
			continue
		}
		m.report.Version++
		m.report.Status = rollout.StatusReady
		if why := f.Fails[m.report.Server]; why != "" {
			m.report.Status, m.report.Why = rollout.StatusFailed, why
		}
	}
	f.mu.Unlock()
	return f.driver.Step(ctx)
}

// Ask asks for something as a person would.
func (f *Fleet) Ask(r rollout.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.Number = uint64(len(f.requests) + 1)
	f.requests = append(f.requests, r)
}

// Freeze freezes a server, or all.
func (f *Fleet) Freeze(freezes ...rollout.Freeze) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.freezes = freezes
}

// State is that of the set.
func (f *Fleet) State() rollout.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// Load and Save are those of the driver's store.
func (f *Fleet) Load(context.Context) (rollout.State, uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state, f.revision, nil
}

// Save keeps a state.
func (f *Fleet) Save(_ context.Context, state rollout.State, revision uint64) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if revision != f.revision {
		return 0, driver.ErrStale
	}
	if f.Stored {
		text, err := json.Marshal(state)
		if err == nil {
			state = rollout.State{}
			err = json.Unmarshal(text, &state)
		}
		if err != nil {
			return 0, err
		}
	}
	f.state, f.revision = state, revision+1
	return f.revision, nil
}

// Facts are what the members have answered.
func (f *Fleet) Facts(_ context.Context, state rollout.State) (rollout.Facts, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	facts := rollout.Facts{Now: f.now, Plans: map[string]rollout.Outcome{}, Freezes: f.freezes}
	for _, server := range slices.Sorted(maps.Keys(f.members)) {
		facts.Plans[server] = rollout.OutcomeFit
		if other := f.Plans[server]; other != "" {
			facts.Plans[server] = other
		}
		facts.Reports = append(facts.Reports, f.members[server].report)
	}
	for _, r := range f.requests {
		if r.Number > state.Handled {
			facts.Requests = append(facts.Requests, r)
		}
	}
	return facts, nil
}

// Do sends an order to its member, which obeys at once.
func (f *Fleet) Do(_ context.Context, a rollout.Action) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.members[a.Server]
	if m == nil || a.Order <= m.report.Order {
		return nil
	}
	r := &m.report
	r.Order, r.Attempt = a.Order, a.Attempt
	r.Version++
	switch a.Verb {
	case rollout.VerbStart:
		r.Status, r.Why, m.left = rollout.StatusRunning, "", f.Steps
	case rollout.VerbRelease, rollout.VerbCommit:
		r.Status = rollout.StatusDone
	case rollout.VerbWithdraw:
		r.Status = rollout.StatusWithdrawn
	case rollout.VerbAbort:
		r.Status = rollout.StatusAborted
	case rollout.VerbUndo:
		r.Status = rollout.StatusUndone
	}
	return nil
}
