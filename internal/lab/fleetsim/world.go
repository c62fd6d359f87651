package fleetsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"midstream/internal/engine/window"
	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/selector"
)

// world is one run: the driver, the members, what is on its way between them, persons, and the time.
type world struct {
	*rand.Rand
	o       Options
	set     rollout.Set
	servers map[string]map[string]string
	members []*member // in the order of the state
	byName  map[string]*member

	now    time.Time     // the true time
	offset time.Duration // of the driver's clock
	step   int
	calm   bool // no faults any more

	stored   rollout.State
	alive    bool
	forward  time.Duration // forward steps of the driver's clock, as the stored states have them
	orders   []order       // on their way to members
	reports  []message     // on their way to the driver
	requests []ask
	freezes  []rollout.Freeze
	waves    []wave

	passed Passed
	tracer func(string)
}

type order struct {
	at time.Time
	a  rollout.Action
}

type message struct {
	at time.Time
	r  rollout.Report
}

type ask struct {
	rollout.Request
	at time.Time
}

// wave is what really happened in a wave.
type wave struct {
	swaps       int
	lastSwap    time.Time
	lastForward time.Duration
}

// Passed counts what a run has tried.
type Passed struct {
	Steps, Starts, Swaps, Undos, Crashes, Stops, Ended, Barriers, Gates, Recalls, Holds int
}

// Add adds the counts of another run.
func (p *Passed) Add(q Passed) {
	p.Steps += q.Steps
	p.Starts += q.Starts
	p.Swaps += q.Swaps
	p.Undos += q.Undos
	p.Crashes += q.Crashes
	p.Stops += q.Stops
	p.Ended += q.Ended
	p.Barriers += q.Barriers
	p.Gates += q.Gates
	p.Recalls += q.Recalls
	p.Holds += q.Holds
}

var whens = []rollout.When{rollout.WhenReady, rollout.WhenWaveReady, rollout.WhenReleased, rollout.WhenBarrier}

var everyMorning, weekdays = mustWindow("00:00-12:00 UTC"), mustWindow("Mon-Fri 08:00-20:00 UTC")

func mustWindow(text string) window.Window {
	w, err := window.Parse(text)
	if err != nil {
		panic(err)
	}
	return w
}

func mustSelector(text string) selector.Selector {
	s, err := selector.Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

var all, shop = mustSelector("*"), mustSelector("cell in (c0,c2)")

// newWorld draws a world from a seed.
func newWorld(seed uint64, o Options) *world {
	w := &world{
		Rand: rand.New(rand.NewPCG(seed, 2)), o: o, servers: map[string]map[string]string{}, byName: map[string]*member{},
		now: time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC), alive: true,
	}
	w.now = w.now.Add(time.Duration(w.IntN(7*24*60)) * time.Minute)
	w.set = rollout.Set{
		ID: "set", Author: "anna", Selector: all, Limits: rollout.Limits{All: o.All, PerHost: o.PerHost, PerCell: o.PerCell},
		StopAfter: o.Stop, SkipApplied: o.Applied,
		Swap: rollout.Swap{When: whens[o.Swap]},
	}
	if o.Window&1 != 0 {
		w.set.Swap.Window = everyMorning
	}
	if o.Window&2 != 0 {
		w.set.Start = weekdays
	}
	if o.Undo {
		w.set.Undo = 24 * time.Hour
		if w.IntN(2) == 0 {
			w.set.Undo = 365 * 24 * time.Hour
		}
	}
	for i := range o.Waves {
		wave := rollout.Wave{Name: fmt.Sprint("w", i), Approve: w.IntN(100) < o.Approve}
		if i < o.Waves-1 {
			wave.Share = 100 * (1 + w.IntN(100/o.Waves))
		}
		if o.Soak > 0 {
			wave.Soak = time.Duration(w.IntN(o.Soak)) * time.Minute
		}
		if w.IntN(3) == 0 {
			wave.Approvers = []string{"bert", "anna"}
		}
		w.set.Waves = append(w.set.Waves, wave)
	}
	for i := range o.Members {
		w.servers[fmt.Sprint("s", i)] = map[string]string{"host": fmt.Sprint("h", w.IntN(o.Hosts)), "cell": fmt.Sprint("c", w.IntN(o.Cells))}
	}
	state, err := rollout.Begin(w.set, w.servers)
	if err != nil {
		panic(err)
	}
	w.set = w.set.Defaults()
	w.stored = state
	w.waves = make([]wave, o.Waves)
	for i := range state.Members {
		m := &member{w: w, i: i, server: state.Members[i].Server, wave: state.Members[i].Wave, labels: state.Members[i].Labels}
		m.outcome = rollout.OutcomeFit
		if w.chance(o.Misfit) {
			m.outcome = []rollout.Outcome{rollout.OutcomeApplied, rollout.OutcomeDrifted, rollout.OutcomeRefused}[w.IntN(3)]
		}
		w.members = append(w.members, m)
		w.byName[m.server] = m
	}
	return w
}

func (w *world) chance(percent int) bool { return percent > 0 && w.IntN(100) < percent }

// fault is a chance that is gone once the faults have stopped.
func (w *world) fault(percent int) bool { return !w.calm && w.chance(percent) }

func (w *world) trace(format string, args ...any) {
	if w.tracer != nil {
		w.tracer(fmt.Sprintf("%5d %s  ", w.step, w.now.Format("Mon 15:04:05.000")) + fmt.Sprintf(format, args...))
	}
}

// way is when a message arrives that is sent now.
func (w *world) way() time.Time {
	if w.calm || w.o.Delay == 0 {
		return w.now.Add(time.Duration(w.IntN(20)) * time.Millisecond)
	}
	if w.IntN(4) > 0 {
		return w.now.Add(time.Duration(w.IntN(50)) * time.Millisecond)
	}
	return w.now.Add(time.Duration(w.IntN(w.o.Delay*1000)) * time.Millisecond)
}

// send sends an order to a member.
func (w *world) send(a rollout.Action) {
	if a.Verb == rollout.VerbFinish || w.fault(w.o.Lose) {
		return
	}
	w.orders = append(w.orders, order{w.way(), a})
	if w.fault(w.o.Double) {
		w.orders = append(w.orders, order{w.way(), a})
	}
}

// turn is one step of the world.
func (w *world) turn() {
	w.step++
	w.pass()
	switch n := w.IntN(100); {
	case n < 35:
		w.deliver()
	case n < 55:
		w.members[w.IntN(len(w.members))].tell()
	case n < 60 && w.alive:
		for _, a := range w.stored.Pending() {
			w.send(a)
		}
	default:
		w.drive()
	}
	if !w.calm && w.IntN(100) < w.o.End/10 && slices.ContainsFunc(w.stored.Members, func(m rollout.Member) bool {
		return m.Step == rollout.StepReleased && m.Last.Verb == rollout.VerbCommit
	}) {
		w.ask(rollout.Request{Ask: rollout.AskCancel, By: "anna"})
	}
	if w.chance1000(w.o.Person) || w.calm && w.IntN(10) == 0 {
		w.person()
	}
	if !w.calm {
		w.disturb()
	}
}

func (w *world) chance1000(n int) bool { return w.IntN(1000) < n }

// pass lets time go by, and the members work.
func (w *world) pass() {
	hasty := false
	for _, m := range w.members {
		hasty = hasty || m.status == rollout.StatusPrepared
	}
	preparing := slices.ContainsFunc(w.stored.Waves, func(s rollout.WaveState) bool { return s.Preparing })
	switch n := w.IntN(100); {
	case (hasty || preparing) && n < 97:
		w.now = w.now.Add(time.Duration(w.IntN(20)) * time.Millisecond)
	case n < 60:
		w.now = w.now.Add(time.Duration(w.IntN(5000)) * time.Millisecond)
	case n < 97:
		w.now = w.now.Add(time.Duration(w.IntN(300)) * time.Second)
	default:
		w.now = w.now.Add(time.Duration(w.IntN(400)) * time.Minute)
	}
	for _, m := range w.members {
		m.work()
	}
}

// deliver brings orders that have arrived to their members, in any order.
func (w *world) deliver() {
	for range 1 + w.IntN(8) {
		if len(w.orders) == 0 {
			return
		}
		i := w.IntN(len(w.orders))
		o := w.orders[i]
		if o.at.After(w.now) {
			continue
		}
		last := len(w.orders) - 1
		w.orders[i] = w.orders[last]
		w.orders = w.orders[:last]
		w.byName[o.a.Server].obey(o.a)
	}
}

// disturb makes what goes wrong in a while.
func (w *world) disturb() {
	if w.chance1000(w.o.Freeze) {
		if len(w.freezes) > 0 && w.IntN(2) == 0 {
			w.freezes = nil
		} else {
			f := rollout.Freeze{}
			switch w.IntN(3) {
			case 0:
				f.Server = w.members[w.IntN(len(w.members))].server
			case 1:
				f.Selector = shop
			}
			if w.IntN(2) == 0 {
				f.Until = w.now.Add(time.Duration(w.IntN(600)) * time.Minute)
			}
			w.freezes = append(slices.Clone(w.freezes), f)
		}
		w.trace("freezes: %v", w.freezes)
	}
	if w.chance1000(w.o.Jump) {
		w.offset = time.Duration(w.IntN(240)-120) * time.Minute
		if w.IntN(8) == 0 {
			w.offset += 365 * 24 * time.Hour
		}
		w.trace("the driver's clock is off by %s", w.offset)
	}
	if w.chance1000(2) {
		if m := w.members[w.IntN(len(w.members))]; m.attempt == 0 && w.o.Misfit > 0 {
			m.outcome = []rollout.Outcome{rollout.OutcomeFit, rollout.OutcomeApplied, rollout.OutcomeDrifted}[w.IntN(3)]
		}
	}
}

// person asks for something: often what the set waits for, sometimes anything.
func (w *world) person() {
	r := rollout.Request{By: []string{"anna", "bert", "carl", ""}[w.IntN(4)]}
	m := w.members[w.IntN(len(w.members))]
	switch n := w.IntN(10); {
	case !w.calm && w.IntN(1000) < w.o.End:
		r.Ask = rollout.AskCancel
		if w.IntN(3) > 0 {
			r.Ask = rollout.AskUndo
		}
	case n < 3:
		r.Ask, r.Wave = rollout.AskApprove, w.set.Waves[w.IntN(len(w.set.Waves))].Name
		if w.calm {
			r.By = "bert"
		}
	case n < 5 && w.set.Swap.When == rollout.WhenReleased:
		r.Ask = rollout.AskRelease
		if w.IntN(2) == 0 {
			r.Server = m.server
		} else if w.IntN(2) == 0 {
			r.Wave = w.set.Waves[w.IntN(len(w.set.Waves))].Name
		}
	case n < 9:
		r.Ask, r.Server = rollout.AskAgain, m.server
		if w.calm || w.IntN(2) == 0 {
			failed := rollout.StepFailed
			if w.stored.Phase == rollout.PhaseUndoing {
				failed = rollout.StepStuck
			}
			n := 0
			for _, other := range w.stored.Members {
				if other.Step == failed {
					if n++; w.IntN(n) == 0 {
						r.Server = other.Server
					}
				}
			}
		}
		if w.calm {
			w.byName[r.Server].outcome = rollout.OutcomeFit
		}
	default:
		r.Ask, r.Server = rollout.AskSkip, m.server
		if w.calm {
			for _, other := range w.stored.Members {
				misfit := w.byName[other.Server].outcome != rollout.OutcomeFit && other.Step == rollout.StepPlanned
				if w.stored.Phase == rollout.PhaseChecking && misfit {
					r.Server = other.Server
				}
			}
			if r.Server == m.server {
				return
			}
		} else if w.IntN(4) > 0 {
			return
		}
	}
	w.ask(r)
}

// ask numbers a request.
func (w *world) ask(r rollout.Request) {
	r.Number = uint64(len(w.requests) + 1)
	w.trace("request %+v", r)
	w.requests = append(w.requests, ask{r, w.now})
}
