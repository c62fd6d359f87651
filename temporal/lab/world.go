// Package lab has members for tests, which obey at once and fail by a script.
package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"midstream/internal/fleet/rollout"
	"midstream/temporal/flow"
)

// Member is a server, and what has happened there.
type Member struct {
	Labels map[string]string
	// Script is what goes wrong: drift, refused, applied, hang (at the first order, until its agent is killed), deaf (it is never
	// prepared), or fail, fatal or lost at an attempt, such as fail:1. kill:VERB:before and kill:VERB:after kill the agent with SIGKILL
	// before or after the member has the first such order.
	Script string

	Report               rollout.Report
	Began                map[int]int // starts and undos, by attempt
	Starts, Swaps, Undos int
	Has                  bool // the change
	Seen                 []string

	// Locked is until when the lock of a barrier is held; zero without one. Committed is whether a barrier has decided.
	Locked    time.Time
	Committed bool

	// Copies is the number of reports for which a start is at work before it is ready.
	Copies int
	copied int
	// Gone is whether the server has left the inventory.
	Gone bool
}

// World has the members of a fleet. With a folder, each member is kept in a file.
type World struct {
	mu      sync.Mutex
	members map[string]*Member
	folder  string
	serves  string // only the servers of these agents; empty: all
	freezes []flow.Frozen

	// Before hears of each order before its member does; it may be nil.
	Before func(rollout.Action)
	// Watch hears of each order that was not known; it may be nil.
	Watch func(rollout.Action)
	// Clock is that of the driver; it may be nil.
	Clock func() time.Time
	// Most has the most members that were at work at once: in all (""), and by the labels "host=h1".
	Most map[string]int
}

// New makes a world of servers with labels and scripts.
func New(members map[string]*Member) *World {
	for name, m := range members {
		m.Report.Server, m.Began = name, map[int]int{}
		if m.Labels == nil {
			m.Labels = map[string]string{}
		}
		m.Labels["server"] = name
	}
	return &World{members: members}
}

// Open opens the members of agents that are kept in a folder.
func Open(folder, agents string) (*World, error) {
	w := &World{folder: folder, serves: agents, members: map[string]*Member{}}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("folder %s has no members", folder))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m := &Member{}
		if err := json.Unmarshal(text, m); err != nil {
			return nil, err
		}
		if agents == "" || flow.QueueOf(m.Labels) == agents {
			w.members[m.Report.Server] = m
		}
	}
	return w, nil
}

// Keep keeps the members in a folder from now on.
func (w *World) Keep(folder string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.folder = folder
	for _, m := range w.members {
		if err := w.keep(m); err != nil {
			return err
		}
	}
	return nil
}

// keep replaces the file of a member, so that a kill at any moment leaves the old one or the new one.
func (w *World) keep(m *Member) error {
	if w.folder == "" {
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	path := filepath.Join(w.folder, m.Report.Server+".json")
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Labels are those of all servers.
func (w *World) Labels() map[string]map[string]string {
	labels := map[string]map[string]string{}
	for name, m := range w.members {
		labels[name] = m.Labels
	}
	return labels
}

// Members returns what has happened.
func (w *World) Members() map[string]Member {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]Member{}
	for name, m := range w.members {
		all[name] = *m
	}
	return all
}

// Script gives servers a script.
func (w *World) Script(script string, servers ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range servers {
		w.members[name].Script = script
	}
}

// Freeze replaces the freezes of the service.
func (w *World) Freeze(freezes ...flow.Frozen) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.freezes = freezes
}

// Add adds a server, or has one leave the inventory or come back.
func (w *World) Add(name string, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.members[name] == nil {
		w.members[name] = &Member{Labels: map[string]string{"server": name, flow.LabelQueue: "q0"}, Report: rollout.Report{Server: name}, Began: map[int]int{}}
	}
	w.members[name].Gone = gone
}

// World has the servers and the freezes.
func (w *World) World(context.Context) (flow.World, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	world := flow.World{Servers: map[string]map[string]string{}, Freezes: slices.Clone(w.freezes)}
	for name, m := range w.members {
		if !m.Gone {
			world.Servers[name] = m.Labels
		}
	}
	return world, nil
}

// count counts the members at work.
func (w *World) count() {
	at := map[string]int{}
	for _, m := range w.members {
		if m.Report.Status == rollout.StatusRunning {
			at[""]++
			at["host="+m.Labels[rollout.LabelHost]]++
			at["cell="+m.Labels[rollout.LabelCell]]++
		}
	}
	if w.Most == nil {
		w.Most = map[string]int{}
	}
	for what, n := range at {
		w.Most[what] = max(w.Most[what], n)
	}
}

// Plan plans servers by their scripts.
func (w *World) Plan(_ context.Context, _ rollout.Set, servers []string) (plans []flow.Planned, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, server := range servers {
		p := flow.Planned{Server: server, Outcome: rollout.OutcomeFit, Definition: "common"}
		switch m := w.members[server]; {
		case m == nil:
			p.Outcome, p.Why = "", "no such server"
		case m.Script == "drift":
			p.Definition = "other"
		case m.Script == string(rollout.OutcomeRefused), m.Script == string(rollout.OutcomeApplied):
			p.Outcome = rollout.Outcome(m.Script)
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// Reports has the reports of members that have had an order.
func (w *World) Reports(context.Context, rollout.Set) (reports []rollout.Report, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.members {
		w.pass(m)
		if m.Report.Status == rollout.StatusRunning {
			if m.copied++; m.copied > m.Copies {
				m.Report.Status, m.copied = rollout.StatusReady, 0
				m.Report.Version++
			}
		}
		if m.Report.Order > 0 {
			reports = append(reports, m.Report)
		}
	}
	slices.SortFunc(reports, func(a, b rollout.Report) int { return strings.Compare(a.Server, b.Server) })
	return reports, nil
}

// Do gives a member an order.
func (w *World) Do(ctx context.Context, set rollout.Set, a rollout.Action) error {
	if w.Before != nil {
		w.Before(a)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.members[a.Server]
	if m == nil {
		return fmt.Errorf("no server %s", a.Server)
	}
	if a.Order <= m.Report.Order {
		return nil
	}
	next := *m
	if m.Script == "hang" {
		next.Script = ""
		if err := w.keep(&next); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	kill, kills := strings.CutPrefix(m.Script, "kill:")
	verb, when, _ := strings.Cut(kill, ":")
	dies := kills && verb == string(a.Verb)
	if dies {
		next.Script = ""
	}
	if dies && when == "before" {
		return errors.Join(w.keep(&next), syscall.Kill(os.Getpid(), syscall.SIGKILL))
	}
	w.pass(&next)
	next.obey(set.Defaults(), a, w.now())
	w.pass(&next)
	next.Seen = append(slices.Clone(m.Seen), fmt.Sprintf("%s %d.%d", a.Verb, a.Order, a.Attempt))
	if err := w.keep(&next); err != nil {
		return err
	}
	*m = next
	if dies {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	w.count()
	if w.Watch != nil {
		w.Watch(a)
	}
	return nil
}

// now is the time of the members.
func (w *World) now() time.Time {
	if w.Clock != nil {
		return w.Clock()
	}
	return time.Now()
}

// pass lets a member do what it does by itself: it gives a lock back in time, and swaps once a barrier has decided, unless it is frozen.
func (w *World) pass(m *Member) {
	r := &m.Report
	if r.Status == rollout.StatusPrepared && !w.now().Before(m.Locked) {
		r.Status = rollout.StatusReady
		r.Version++
	}
	frozen := slices.ContainsFunc(w.freezes, func(f flow.Frozen) bool { return f.Server == "" || f.Server == r.Server })
	if m.Committed && !frozen && (r.Status == rollout.StatusPrepared || r.Status == rollout.StatusReady) {
		r.Status, m.Has = rollout.StatusDone, true
		r.Version++
		m.Swaps++
	}
}

// obey carries out an order. Verbs that do not fit the state change nothing.
func (m *Member) obey(set rollout.Set, a rollout.Action, now time.Time) {
	r := &m.Report
	r.Order, r.Attempt = a.Order, a.Attempt
	r.Version++
	held := r.Status == rollout.StatusReady || r.Status == rollout.StatusPrepared
	at := func(what string) bool { return m.Script == fmt.Sprintf("%s:%d", what, a.Attempt) }
	switch {
	case a.Verb == rollout.VerbStart:
		m.Starts++
		m.Began[a.Attempt]++
		if r.Status, r.Temporary = rollout.StatusReady, false; m.Copies > 0 {
			r.Status = rollout.StatusRunning
		}
		if at("fail") || at("fatal") {
			r.Status, r.Temporary, r.Why = rollout.StatusFailed, at("fail"), "by its script"
		}
	case a.Verb == rollout.VerbUndo:
		m.Undos++
		m.Began[a.Attempt]++
		r.Status, m.Has = rollout.StatusUndone, false
	case held && a.Verb == rollout.VerbCommit:
		m.Committed = true // pass swaps
	case held && a.Verb == rollout.VerbRelease:
		m.Swaps++
		r.Status, m.Has = rollout.StatusDone, true
		if at("lost") {
			r.Status = rollout.StatusUnknown
		}
	case held && a.Verb == rollout.VerbPrepare && m.Script != "deaf":
		r.Status, r.Round, r.Hold = rollout.StatusPrepared, a.Round, set.Swap.Hold
		m.Locked = now.Add(set.Swap.Hold)
	case held && a.Verb == rollout.VerbHold:
		r.Status, m.Committed = rollout.StatusReady, false
	case held && (a.Verb == rollout.VerbAbort || a.Verb == rollout.VerbWithdraw && m.Starts == 0):
		r.Status = rollout.StatusAborted
	case a.Verb == rollout.VerbCheck:
		r.Status = rollout.StatusReady
		if m.Has {
			r.Status = rollout.StatusDone
		}
	}
}

// Wrong returns what has happened twice, or too much.
func (w *World) Wrong() (wrong []string) {
	for name, m := range w.Members() {
		for attempt, n := range m.Began {
			if n != 1 {
				wrong = append(wrong, fmt.Sprintf("%s: attempt %d began %d times: %v", name, attempt, n, m.Seen))
			}
		}
		if m.Swaps > 1+m.Undos {
			wrong = append(wrong, fmt.Sprintf("%s swapped %d times: %v", name, m.Swaps, m.Seen))
		}
	}
	return wrong
}

// Person is what people ask for at a state; nil for nothing. They see each state once.
type Person func(s rollout.State) *rollout.Request

// Embedded drives a world by fleet/driver, as midstream serve does. It keeps the state in memory.
type Embedded struct {
	World  *World
	Set    rollout.Set
	Person Person
	// Clock is the time of the first step; each step takes Pace.
	Clock time.Time
	Pace  time.Duration

	State    rollout.State
	revision uint64
	requests []rollout.Request
	planned  bool
}

// Load is the driver's.
func (e *Embedded) Load(context.Context) (rollout.State, uint64, error) {
	return e.State, e.revision, nil
}

// Save is the driver's.
func (e *Embedded) Save(_ context.Context, s rollout.State, _ uint64) (uint64, error) {
	e.State = s
	e.revision++
	return e.revision, nil
}

// Facts is the driver's.
func (e *Embedded) Facts(ctx context.Context, s rollout.State) (rollout.Facts, error) {
	e.Clock = e.Clock.Add(e.Pace)
	f := rollout.Facts{Now: e.Clock}
	if !e.planned {
		e.planned = true
		f.Plans = map[string]rollout.Outcome{}
		plans, err := e.World.Plan(ctx, e.Set, servers(s))
		if err != nil {
			return f, err
		}
		for _, p := range plans {
			f.Plans[p.Server] = p.Outcome
			if p.Definition == "other" {
				f.Plans[p.Server] = rollout.OutcomeDrifted
			}
		}
	}
	if r := e.Person(s); r != nil {
		r.Number = uint64(len(e.requests) + 1)
		e.requests = append(e.requests, *r)
	}
	f.Requests = e.requests
	world, err := e.World.World(ctx)
	if err != nil {
		return f, err
	}
	f.Servers = world.Servers
	for _, one := range world.Freezes {
		freeze, err := one.Freeze()
		if err != nil {
			return f, err
		}
		f.Freezes = append(f.Freezes, freeze)
	}
	f.Reports, err = e.World.Reports(ctx, e.Set)
	return f, err
}

func servers(s rollout.State) (names []string) {
	for _, m := range s.Members {
		names = append(names, m.Server)
	}
	return names
}

// Do is the driver's.
func (e *Embedded) Do(ctx context.Context, a rollout.Action) error {
	if a.Verb == rollout.VerbFinish {
		return nil
	}
	return e.World.Do(ctx, e.Set, a)
}
