package migration_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/fleet/driver"
	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/selector"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/socket"
)

// barriers is the number of barriers of TestABarrierIsAllOrNone; make nightly has 20.
var barriers = flag.Int("barriers", 2, "number of barriers over four servers, one after the other; with -servers at least 20")

// party is a member of a change set: a table under writers on a server of its own, and the process that changes it.
type party struct {
	*bench
	l       *ledger.Ledger
	probe   *probe
	clauses string
	sockets string
	flags   []string // of its runs, with the usual ones

	mu       sync.Mutex
	child    *child
	ran      []*child
	order    uint64
	version  uint64
	attempt  int
	status   rollout.Status
	round    int // that it is prepared for
	hold     time.Duration
	answered []string // what its run has answered
	undo     bool     // its change can be taken back
	fails    bool     // its run is killed at its release, and does not come again
	follower *child   // follows the table for a warm undo, once it is swapped
	undoes   bool     // the follower is released
	tookBack time.Duration
}

// fleet is the members of a set, with the state of the set in memory (driver.Store, driver.Fleet).
type fleet struct {
	*testing.T
	set     rollout.Set
	parties map[string]*party
	going   sync.WaitGroup

	mu       sync.Mutex
	state    []byte
	revision uint64
	ended    bool
	requests []rollout.Request
	hold     time.Duration // the time of a round
	// at is called before and after each step of the protocol. If it returns an error, the conductor dies there.
	at func(step string) error
}

// errDied ends a conductor.
var errDied = errors.New("the conductor died")

// newFleet makes a table under writers on each of four servers.
func newFleet(t *testing.T) *fleet {
	f := &fleet{T: t, parties: map[string]*party{}, hold: 400 * time.Millisecond, at: func(string) error { return nil }}
	for i, version := range []string{"9.7", "8.0", "5.7", "mariadb-10.11"} {
		b := setup(t, version)
		p := &party{bench: b, sockets: filepath.Join(t.TempDir(), "s")}
		p.l = b.ledger(ledger.Int(), 2000, ledger.Options{Writers: 2, Rate: 60})
		b.start(p.l)
		b.exec("CREATE TABLE "+b.schema+".beside (id INT PRIMARY KEY, v INT)", "INSERT INTO "+b.schema+".beside VALUES (1, 0)")
		p.probe = b.newProbe()
		f.parties[fmt.Sprintf("s%d", i)] = p
	}
	t.Cleanup(f.going.Wait)
	return f
}

// begin begins a set with a change of all members.
func (f *fleet) begin(id, clauses string, when rollout.When) {
	f.Helper()
	all, err := selector.Parse("*")
	if err != nil {
		f.Fatal(err)
	}
	f.set = rollout.Set{
		Selector: all, ID: id, Statement: "ALTER TABLE t " + clauses, Author: "anna", Waves: []rollout.Wave{{Name: "all"}}, StopAfter: 4,
		Swap:  rollout.Swap{When: when, Hold: f.hold, Margin: 30 * time.Millisecond},
		Retry: rollout.Retry{Attempts: 5, Wait: 10 * time.Millisecond},
	}.Defaults()
	state, err := rollout.Begin(f.set, f.servers())
	if err != nil {
		f.Fatal(err)
	}
	f.ended, f.revision = false, 0
	f.state, _ = json.Marshal(state)
	for _, p := range f.parties {
		p.mu.Lock()
		p.clauses, p.child, p.ran, p.order, p.attempt, p.status, p.answered = clauses, nil, nil, 0, 0, rollout.StatusWaiting, nil
		p.mu.Unlock()
	}
}

func (f *fleet) servers() map[string]map[string]string {
	servers := map[string]map[string]string{}
	for name := range f.parties {
		servers[name] = map[string]string{"server": name}
	}
	return servers
}

// decided reports whether the stored state has the decision.
func (f *fleet) decided() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	var s rollout.State
	_ = json.Unmarshal(f.state, &s)
	return s.Waves[0].Open
}

func (f *fleet) Load(context.Context) (s rollout.State, revision uint64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return s, f.revision, json.Unmarshal(f.state, &s)
}

func (f *fleet) Save(_ context.Context, s rollout.State, revision uint64) (uint64, error) {
	decides := s.Waves[0].Open && !f.decided()
	if decides {
		if err := f.at("before the decision"); err != nil {
			return 0, err
		}
	}
	f.mu.Lock()
	if revision != f.revision {
		f.mu.Unlock()
		return 0, driver.ErrStale
	}
	f.state, _ = json.Marshal(s)
	f.revision++
	revision = f.revision
	f.mu.Unlock()
	if decides {
		return revision, f.at("after the decision")
	}
	return revision, nil
}

func (f *fleet) Facts(context.Context, rollout.State) (rollout.Facts, error) {
	facts := rollout.Facts{Now: time.Now(), Plans: map[string]rollout.Outcome{}, Servers: f.servers()}
	for name, p := range f.parties {
		facts.Plans[name] = rollout.OutcomeFit
		facts.Reports = append(facts.Reports, p.report(name))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	facts.Requests = f.requests
	return facts, nil
}

func (f *fleet) Do(ctx context.Context, a rollout.Action) error {
	if a.Verb == rollout.VerbFinish {
		f.ended = true
		return nil
	}
	if err := f.at("before " + string(a.Verb)); err != nil {
		return err
	}
	p := f.parties[a.Server]
	p.mu.Lock()
	fresh := a.Order > p.order
	if fresh {
		p.order, p.attempt, p.round = a.Order, a.Attempt, 0
		p.version++
		p.undoes = p.undoes || a.Verb == rollout.VerbUndo
	}
	p.mu.Unlock()
	if fresh {
		f.going.Go(func() { p.obey(a, f.set.Swap.Hold) })
	}
	return f.at("after " + string(a.Verb))
}

// report is what the member reports now.
func (p *party) report(name string) rollout.Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	status := p.status
	switch {
	case p.child == nil:
	case p.undoes && p.follower.ended():
		status = rollout.StatusUndone
	case p.undoes:
		status = rollout.StatusUndoing
	case p.child.ended() && p.child.cmd.ProcessState != nil:
		status = rollout.StatusDone
		if p.child.cmd.ProcessState.ExitCode() != 0 {
			status = rollout.StatusFailed
		}
	case p.round > 0:
		status = rollout.StatusPrepared
	case p.child.heard(phaseLine(event.PhaseHold)):
		status = rollout.StatusReady
	default:
		status = rollout.StatusRunning
	}
	if status != p.status || status == rollout.StatusPrepared {
		p.version++
	}
	p.status = status
	return rollout.Report{
		Server: name, Version: p.version, Order: p.order, Attempt: p.attempt, Status: status, Temporary: !p.fails,
		Round: p.round, Hold: p.hold,
	}
}

// obey has the member's process do what is ordered.
func (p *party) obey(a rollout.Action, hold time.Duration) {
	switch a.Verb {
	case rollout.VerbStart:
		flags := []string{"--hold", "--control-dir=" + p.sockets, "--lock-wait=100ms", "--drop-old", "--wait-for-other=1m"}
		if p.undo {
			flags[3] = "--undo=1h"
		}
		flags = append(flags, p.flags...)
		c := p.bench.child(p.clauses, "", nil, flags...)
		p.mu.Lock()
		p.child, p.ran, p.round = c, append(p.ran, c), 0
		p.mu.Unlock()
	case rollout.VerbPrepare:
		answer, err := p.tell(a, "prepare", socket.PrepareCommand{Round: a.Round, HoldMS: hold.Milliseconds()})
		if round := answer.Status.Round; err == nil && round != nil && round.Prepared {
			p.mu.Lock()
			if p.order == a.Order {
				p.round, p.hold = round.Number, time.Duration(round.HoldMS)*time.Millisecond
			}
			p.mu.Unlock()
		}
	case rollout.VerbCommit:
		_, _ = p.tell(a, "commit", socket.CommitCommand{Round: a.Round})
	case rollout.VerbHold:
		_, _ = p.tell(a, "hold", struct{}{})
	case rollout.VerbRelease:
		if p.fails {
			p.child.kill()
			return
		}
		_, _ = p.tell(a, "cutover", struct{}{})
	case rollout.VerbUndo:
		began := time.Now()
		if code, last := p.releasing("--control-dir=" + p.sockets).wait(); code != 0 {
			p.Errorf("undo: exit code %d: %s", code, last)
		}
		if code, last := p.follower.wait(); code != 0 {
			p.Errorf("the follower: exit code %d: %s", code, last)
		}
		p.mu.Lock()
		p.tookBack = time.Since(began)
		p.mu.Unlock()
	}
}

// tell gives a command to the run.
func (p *party) tell(a rollout.Action, operation string, command any) (answer socket.Answer, err error) {
	p.mu.Lock()
	c := p.child
	p.mu.Unlock()
	runs, err := socket.FindProcess(p.ctx(), p.sockets, c.cmd.Process.Pid)
	if err == nil && len(runs) == 0 {
		err = errors.New("it has no socket")
	}
	if err == nil {
		err = runs[0].Call(p.ctx(), http.MethodPost, operation, command, &answer)
	}
	p.mu.Lock()
	p.answered = append(p.answered, fmt.Sprintf("%s %d: %s, %v", operation, a.Round, answer.Text, err))
	p.mu.Unlock()
	return answer, err
}

// patient is how long a test waits for the end of a set. The pause between two rounds doubles, up to 26 s.
const patient = 4 * time.Minute

// conduct drives the set to its end, or until the conductor dies.
func (f *fleet) conduct(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d := &driver.Driver{Set: f.set, Store: f, Fleet: f, Every: 5 * time.Millisecond, Resend: 200}
	var died error
	d.Trouble = func(err error) { died = err; cancel() }
	if err := d.Run(ctx); err != nil {
		return errors.Join(died, err)
	}
	return nil
}

// swapped are the members whose tables have the new column.
func (f *fleet) swapped(column string) (names []string) {
	for name, p := range f.parties {
		n := p.value("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = '" + p.schema + "' AND table_name = 't' AND column_name = '" + column + "'")
		if n == "1" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// mustBeWhole checks the end of a set: every member has the change, by one run, and every ledger is equal.
func (f *fleet) mustBeWhole(column string) {
	f.Helper()
	if names := f.swapped(column); len(names) != len(f.parties) {
		f.Errorf("swapped: %v", names)
	}
	for name, p := range f.parties {
		swaps := 0
		for _, c := range p.ran {
			if code, _ := c.wait(); code == 0 {
				swaps++
			}
		}
		if swaps != 1 {
			f.Errorf("%s: %d of %d runs have swapped", name, swaps, len(p.ran))
		}
	}
}

// mustMatch compares every table with its ledger, and ends the writers.
func (f *fleet) mustMatch() {
	f.Helper()
	for _, p := range f.parties {
		p.probe.end()
		p.mustMatchLedger(p.l)
	}
}

// say logs what the runs have answered, if the test has failed.
func (f *fleet) say() {
	if f.Failed() {
		f.Logf("%s", f.state)
		for name, p := range f.parties {
			p.mu.Lock()
			f.Logf("%s: %s, order %d, round %d, %q", name, p.status, p.order, p.round, p.answered)
			for _, c := range p.ran {
				c.log("round")
				f.Logf("%s: %s", name, &c.complaint)
			}
			p.mu.Unlock()
		}
	}
}

// probe is an application that writes to the table all the time, and to another one that nobody changes.
type probe struct {
	mu            sync.Mutex
	worst, beside time.Duration
	failed        error
	stop          context.CancelFunc
	done          sync.WaitGroup
}

func (b *bench) newProbe() *probe {
	ctx, stop := context.WithCancel(context.Background())
	p := &probe{stop: stop}
	for _, table := range []string{"t", "beside"} {
		conn := b.conn()
		p.done.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				_, err := conn.ExecContext(context.Background(), "UPDATE "+b.schema+"."+table+" SET id = id WHERE id = 1")
				took := time.Since(began)
				p.mu.Lock()
				if table == "t" {
					p.worst = max(p.worst, took)
				} else {
					p.beside = max(p.beside, took)
				}
				if err != nil && ctx.Err() == nil {
					p.failed = err
				}
				p.mu.Unlock()
				time.Sleep(3 * time.Millisecond)
			}
		})
	}
	b.Cleanup(p.end)
	return p
}

func (p *probe) end() {
	p.stop()
	p.done.Wait()
}

// since returns the longest waits since the last call.
func (p *probe) since() (worst, beside time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	worst, beside, p.worst, p.beside = p.worst, p.beside, 0, 0
	return worst, beside
}

// mostStall is how long an application may wait for a barrier, in addition to what the machine takes.
const mostStall = 250 * time.Millisecond

// measured reports whether times are measured too: on a quiet machine, with -servers or 20 barriers. Otherwise the machine may be slow, and
// rounds have more time.
func measured() bool { return *servers != "" || *barriers >= 20 }

// TestABarrierIsAllOrNone: four servers of four kinds, with writers on each, swap at the same moment, by the real driver, and the ledgers
// are equal. Where times are measured, the application waits for at most 250 ms on each.
func TestABarrierIsAllOrNone(t *testing.T) {
	f := newFleet(t)
	many, most := max(20, *barriers), mostStall
	if !measured() {
		f.hold = 2 * time.Second
		for _, p := range f.parties {
			p.flags = []string{"--lock-work=2s"}
		}
		many, most = *barriers, f.hold+slack
	}
	defer f.say()
	var stalls []time.Duration
	rounds := map[int]int{}
	for i := range many {
		column := fmt.Sprintf("added%d", i)
		f.begin(fmt.Sprintf("set%d", i), "ADD COLUMN "+column+" INT", rollout.WhenBarrier)
		ready := false
		f.at = func(step string) error {
			if !ready && step == "before prepare" {
				ready = true
				for _, p := range f.parties {
					p.probe.since()
				}
			}
			return nil
		}
		if err := f.conduct(patient); err != nil {
			t.Fatalf("set %d: %v", i, err)
		}
		for name, p := range f.parties {
			stall, beside := p.probe.since()
			if stall > most+beside {
				t.Errorf("set %d: the application waited %s on %s (%s on another table)", i, stall, name, beside)
			}
			stalls = append(stalls, stall)
		}
		f.mustBeWhole(column)
		var s rollout.State
		_ = json.Unmarshal(f.state, &s)
		rounds[s.Waves[0].Round]++
	}
	f.mustMatch()
	slices.Sort(stalls)
	at := func(percent int) time.Duration { return stalls[(len(stalls)-1)*percent/100].Round(time.Millisecond) }
	t.Logf("%d barriers over 4 servers: all or none; stall p50 %s, p90 %s, p99 %s, max %s; barriers by rounds %v",
		many, at(50), at(90), at(99), at(100), rounds)
}

// TestABarrierSurvivesItsParties: the conductor or a member dies at each step of the protocol. No table is swapped without a stored
// decision; after it all are, each once.
func TestABarrierSurvivesItsParties(t *testing.T) {
	mysqltest.Seldom(t)
	f := newFleet(t)
	defer f.say()
	i := 0
	for _, step := range []string{
		"before prepare", "after prepare", "before the decision", "after the decision", "before commit", "after commit",
	} {
		for _, who := range []string{"the conductor", "a member"} {
			column := fmt.Sprintf("k%d", i)
			i++
			f.begin("set-"+column, "ADD COLUMN "+column+" INT", rollout.WhenBarrier)
			struck := false
			f.at = func(now string) error {
				if struck || now != step {
					return nil
				}
				struck = true
				if who == "the conductor" {
					return errDied
				}
				p := f.parties["s1"]
				p.mu.Lock()
				defer p.mu.Unlock()
				p.child.kill()
				return nil
			}
			err := f.conduct(patient)
			if died := who == "the conductor"; died != errors.Is(err, errDied) || !died && err != nil {
				t.Fatalf("%s dies %s: %v", who, step, err)
			}
			if who == "the conductor" {
				time.Sleep(600 * time.Millisecond) // each member has given its lock back by itself
				if names := f.swapped(column); len(names) > 0 && !f.decided() {
					t.Errorf("%s dies %s: %v are swapped without a decision", who, step, names)
				}
				for name, p := range f.parties {
					began := time.Now()
					p.exec("UPDATE " + p.schema + ".t SET id = id WHERE id = 1")
					if took := time.Since(began); took > mostStall && (measured() || took > f.hold+time.Second) {
						t.Errorf("%s dies %s: the table of %s is locked for %s", who, step, name, took)
					}
				}
				if err := f.conduct(patient); err != nil {
					t.Fatalf("%s dies %s, and the next one: %v", who, step, err)
				}
			}
			if !struck {
				t.Errorf("nothing happened %s", step)
			}
			f.mustBeWhole(column)
		}
	}
	f.mustMatch()
}

// TestAGateThatFailsIsTakenBack: all four members are ready before the first one swaps. The last one fails, and the warm undo of the set
// takes the others back, each in a second.
func TestAGateThatFailsIsTakenBack(t *testing.T) {
	mysqltest.Seldom(t)
	f := newFleet(t)
	defer f.say()
	f.begin("gate", "ADD COLUMN gate INT", rollout.WhenWaveReady)
	f.set.Undo, f.set.StopAfter = time.Hour, 1
	for _, p := range f.parties {
		p.undo = true
	}
	last := f.parties["s3"]
	last.fails = true
	released := 0
	f.at = func(step string) error {
		if step == "before release" {
			released++
		}
		for name, p := range f.parties {
			p.mu.Lock()
			if released == 1 && p.status != rollout.StatusReady && p.status != rollout.StatusDone {
				t.Errorf("a member is released while %s is %s", name, p.status)
			}
			p.mu.Unlock()
		}
		return nil
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	ended := make(chan error, 1)
	d := &driver.Driver{Set: f.set, Store: f, Fleet: f, Every: 20 * time.Millisecond, Trouble: func(err error) { t.Error(err) }}
	go func() { ended <- d.Run(ctx) }()
	for len(f.swapped("gate")) < 3 && ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	for name, p := range f.parties {
		if p == last {
			continue
		}
		<-p.child.done
		c := p.undoing("--hold", "--control-dir="+p.sockets)
		c.await(phaseLine(event.PhaseHold))
		p.mu.Lock()
		p.follower = c
		p.mu.Unlock()
		p.probe.since()
		t.Logf("%s follows", name)
	}
	f.mu.Lock()
	f.requests = append(f.requests, rollout.Request{Number: 1, Ask: rollout.AskUndo, By: "bert"})
	f.mu.Unlock()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	f.going.Wait()
	if names := f.swapped("gate"); len(names) > 0 {
		t.Errorf("still swapped: %v", names)
	}
	for name, p := range f.parties {
		if p == last {
			p.exec("DROP TABLE "+p.schema+".t_shadow", "DROP TABLE "+p.schema+".t_midstream") // as midstream cleanup does
			continue
		}
		p.exec("DROP TABLE " + p.schema + ".t_undo")
		stall, beside := p.probe.since()
		t.Logf("%s was taken back in %s, and its application waited for %s (%s on another table)", name, p.tookBack, stall, beside)
		if measured() && (p.tookBack > time.Second+4*beside+slack || stall > mostStall+slack+beside) {
			t.Errorf("%s: too long", name)
		}
	}
	f.mustMatch()
}
