package driver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"midstream/internal/fleet/driver"
	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/selector"
)

// errKilled ends a driver.
var errKilled = errors.New("killed")

// world is a store in memory, and members that obey at once. It kills the driver at one operation.
type world struct {
	ops, killAt int
	lost        bool // the answer is lost: the operation is carried out
	state       []byte
	revision    uint64
	now         time.Time
	members     map[string]*member
	requests    []rollout.Request
	finished    int
}

type member struct {
	order, version uint64
	attempt        int
	status         rollout.Status
	starts, swaps  int
	undos          int
}

// op counts an operation. The driver dies before it, or after it.
func (w *world) op(do func()) error {
	w.ops++
	if w.ops != w.killAt {
		do()
		return nil
	}
	if w.lost {
		do()
	}
	panic(errKilled)
}

func (w *world) Load(context.Context) (s rollout.State, revision uint64, err error) {
	err = w.op(func() {})
	return s, w.revision, errors.Join(err, json.Unmarshal(w.state, &s))
}

func (w *world) Save(_ context.Context, s rollout.State, revision uint64) (uint64, error) {
	if revision != w.revision {
		return 0, driver.ErrStale
	}
	err := w.op(func() {
		w.state, _ = json.Marshal(s)
		w.revision++
	})
	return w.revision, err
}

func (w *world) Facts(_ context.Context, s rollout.State) (rollout.Facts, error) {
	w.now = w.now.Add(time.Minute)
	f := rollout.Facts{Now: w.now, Plans: map[string]rollout.Outcome{}}
	err := w.op(func() {})
	for name, m := range w.members {
		f.Plans[name] = rollout.OutcomeFit
		r := rollout.Report{Server: name, Version: m.version, Order: m.order, Attempt: m.attempt, Status: m.status}
		f.Reports = append(f.Reports, r)
	}
	for _, wave := range s.Waves {
		if wave.Phase == rollout.WaveToApprove && len(w.requests) == 0 {
			w.requests = append(w.requests, rollout.Request{Number: 1, Ask: rollout.AskApprove, Wave: wave.Name, By: "bert"})
		}
	}
	f.Requests = w.requests
	return f, err
}

func (w *world) Do(_ context.Context, a rollout.Action) error {
	return w.op(func() {
		if a.Verb == rollout.VerbFinish {
			w.finished++
			return
		}
		m := w.members[a.Server]
		if a.Order <= m.order {
			return
		}
		m.order, m.attempt = a.Order, a.Attempt
		m.version++
		switch a.Verb {
		case rollout.VerbStart:
			m.starts++
			m.status = rollout.StatusReady
		case rollout.VerbRelease:
			m.swaps++
			m.status = rollout.StatusDone
		case rollout.VerbUndo:
			m.undos++
			m.status = rollout.StatusUndone
		}
	})
}

func newWorld(t *testing.T) (*world, rollout.Set) {
	t.Helper()
	every, err := selector.Parse("*")
	if err != nil {
		t.Fatal(err)
	}
	set := rollout.Set{
		ID: "set", Selector: every, Limits: rollout.Limits{All: 2}, Undo: 24 * time.Hour, Swap: rollout.Swap{When: rollout.WhenWaveReady},
		Waves: []rollout.Wave{{Name: "canary", Share: 2000, Soak: 5 * time.Minute, Approve: true}, {Name: "rest"}},
	}
	w := &world{members: map[string]*member{}, now: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)}
	servers := map[string]map[string]string{}
	for i := range 5 {
		servers[fmt.Sprint("s", i)] = nil
		w.members[fmt.Sprint("s", i)] = &member{}
	}
	state, err := rollout.Begin(set, servers)
	if err != nil {
		t.Fatal(err)
	}
	if w.state, err = json.Marshal(state); err != nil {
		t.Fatal(err)
	}
	return w, set
}

// drive drives the set to its end, with another driver after the kill. It reports whether there was a kill.
func drive(t *testing.T, w *world, set rollout.Set) (killed bool) {
	t.Helper()
	life := func() (ended bool) {
		defer func() {
			if p := recover(); p == errKilled {
				killed = true
			} else if p != nil {
				panic(p)
			}
		}()
		d := &driver.Driver{Set: set, Store: w, Fleet: w}
		for range 100 {
			ended, err := d.Step(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if ended {
				return true
			}
		}
		t.Fatal("the set does not end")
		return true
	}
	for !life() {
		if !killed {
			t.Fatal("no end and no kill")
		}
	}
	return killed
}

// TestKilledBetweenEachStep: whenever the driver dies, each member starts and swaps once, and the undo of the set
// takes each back once.
func TestKilledBetweenEachStep(t *testing.T) {
	for _, lost := range []bool{false, true} {
		for at := 1; ; at++ {
			w, set := newWorld(t)
			w.killAt, w.lost = at, lost
			killed := drive(t, w, set)
			w.requests = append(w.requests, rollout.Request{Number: 2, Ask: rollout.AskUndo, By: "bert"})
			if w.killAt <= w.ops {
				w.killAt = 0
			}
			undoKilled := undo(t, w, set)
			for name, m := range w.members {
				if m.starts != 1 || m.swaps != 1 || m.undos != 1 {
					t.Errorf("killed at %d, lost %t: %s has %+v", at, lost, name, *m)
				}
			}
			var s rollout.State
			if err := json.Unmarshal(w.state, &s); err != nil || s.Phase != rollout.PhaseUndone || w.finished < 2 {
				t.Errorf("killed at %d, lost %t: the set is %s, finished %d times, %v", at, lost, s.Phase, w.finished, err)
			}
			if r := s.Result(); len(r.Changed) != 0 || len(r.Unchanged) != 5 {
				t.Errorf("killed at %d: %+v", at, r)
			}
			if !killed && !undoKilled {
				if at < 40 {
					t.Errorf("only %d operations", at)
				}
				break
			}
		}
	}
}

// undo drives the set from its end to that of its undo. A driver of an ended set reports the end again at first.
func undo(t *testing.T, w *world, set rollout.Set) (killed bool) {
	t.Helper()
	for range 20 {
		killed = drive(t, w, set) || killed
		var s rollout.State
		if err := json.Unmarshal(w.state, &s); err != nil {
			t.Fatal(err)
		}
		if s.Phase == rollout.PhaseUndone {
			return killed
		}
	}
	t.Fatal("the undo does not end")
	return
}

// TestTwoThousandMembers: a step over a large fleet takes milliseconds.
func TestTwoThousandMembers(t *testing.T) {
	w, set := newWorld(t)
	set.Limits.All = 40
	servers := map[string]map[string]string{}
	for i := range 2000 {
		servers[fmt.Sprint("s", i)] = nil
		w.members[fmt.Sprint("s", i)] = &member{}
	}
	state, err := rollout.Begin(set, servers)
	if err != nil {
		t.Fatal(err)
	}
	if w.state, err = json.Marshal(state); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	drive(t, w, set)
	t.Logf("%s for %d operations; the state has %d bytes", time.Since(began), w.ops, len(w.state))
	for name, m := range w.members {
		if m.starts != 1 || m.swaps != 1 {
			t.Errorf("%s has %+v", name, *m)
		}
	}
}

// TestTwoDrivers: the second to store is stale, and sends nothing.
func TestTwoDrivers(t *testing.T) {
	w, set := newWorld(t)
	a, b := &driver.Driver{Set: set, Store: w, Fleet: w}, &driver.Driver{Set: set, Store: blind{w}, Fleet: w}
	if _, err := a.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := starts(w)
	if _, err := b.Step(t.Context()); !errors.Is(err, driver.ErrStale) {
		t.Errorf("%v", err)
	}
	if !slices.Equal(before, starts(w)) {
		t.Errorf("%v, then %v", before, starts(w))
	}
}

// blind loads what was there before the other driver.
type blind struct{ *world }

func (b blind) Load(ctx context.Context) (rollout.State, uint64, error) {
	s, revision, err := b.world.Load(ctx)
	for i := range s.Members {
		s.Members[i].Step, s.Members[i].Last = rollout.StepPlanned, rollout.Action{}
	}
	return s, revision - 1, err
}

func starts(w *world) (all []int) {
	for i := range len(w.members) {
		all = append(all, w.members[fmt.Sprint("s", i)].starts)
	}
	return all
}

// prompt is a fleet whose members hold their locks only while all of them are asked.
type prompt struct {
	*world
	come, all chan struct{}
}

func (p *prompt) Do(context.Context, rollout.Action) error {
	<-p.come
	<-p.all
	return nil
}

func (p *prompt) Facts(context.Context, rollout.State) (rollout.Facts, error) {
	return rollout.Facts{Now: p.now}, nil
}

// TestOrdersOfABarrierGoSideBySide: a member that answers late does not hold up the commit of the others.
func TestOrdersOfABarrierGoSideBySide(t *testing.T) {
	w, set := newWorld(t)
	set.Swap.When = rollout.WhenBarrier
	var s rollout.State
	if err := json.Unmarshal(w.state, &s); err != nil {
		t.Fatal(err)
	}
	for i := range s.Members {
		m := &s.Members[i]
		m.Last = rollout.Action{Verb: rollout.VerbCommit, Set: set.ID, Server: m.Server, Order: 1}
	}
	w.state, _ = json.Marshal(s)
	p := &prompt{w, make(chan struct{}), make(chan struct{})}
	stepped := make(chan error, 1)
	go func() {
		d := &driver.Driver{Set: set, Store: w, Fleet: p}
		_, err := d.Step(t.Context())
		stepped <- err
	}()
	for range s.Members { // none is answered before all have come
		p.come <- struct{}{}
	}
	close(p.all)
	if err := <-stepped; err != nil {
		t.Error(err)
	}
}
