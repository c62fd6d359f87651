package fleetsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"midstream/internal/fleet/rollout"
)

// lawWaits is about two sets on the same table of the same servers.
const lawWaits = "a set that waits for another set names it, and ends once that has ended"

// pair is two gated sets over the same table of the same servers. Each server runs one change at a time, in the order in which the starts
// arrive there.
type pair struct {
	*rand.Rand
	now     time.Time
	sets    [2]*paired
	servers map[string][]*turn // by arrival
	trace   []string
}

// paired is one of them, with its orders on their way.
type paired struct {
	set     rollout.Set
	state   rollout.State
	orders  []rollout.Action
	asked   []rollout.Request
	obeyed  map[string]uint64
	version map[string]uint64
	turns   map[string]*turn
}

// turn is the change of a set on a server.
type turn struct {
	of      *paired
	status  rollout.Status
	attempt int
}

func (t *turn) over() bool {
	return t.status == rollout.StatusDone || t.status == rollout.StatusAborted || t.status == rollout.StatusWithdrawn
}

// Pair runs a seed of two sets. It reports whether they waited for each other, and the law that is broken, or nil.
func Pair(seed uint64) (stuck bool, broken *Violation) {
	p := newPair(seed)
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *Violation:
			v.Seed = seed
			broken = v
		default:
			panic(v)
		}
	}()
	p.settle()
	var left []*paired
	for _, one := range p.sets {
		if !one.state.Phase.Ended() {
			left = append(left, one)
		}
	}
	if len(left) == 0 {
		return false, nil
	}
	for _, one := range left {
		for _, other := range p.waitedFor(one) {
			if !strings.Contains(one.state.Why, "set "+other) {
				p.broken("set %s waits for set %s, and says %q", one.set.ID, other, one.state.Why)
			}
		}
	}
	if len(left) < len(p.sets) {
		p.broken("set %s does not end: %q", left[0].set.ID, left[0].state.Why)
	}
	left[0].asked = append(left[0].asked, rollout.Request{Number: 1, Ask: rollout.AskCancel, By: "anna"})
	p.settle()
	if a, b := left[0].state.Phase, left[1].state.Phase; a != rollout.PhaseCancelled || b != rollout.PhaseFinished {
		p.broken("after the cancel the sets are %s and %s: %q", a, b, left[1].state.Why)
	}
	return true, nil
}

func newPair(seed uint64) *pair {
	p := &pair{Rand: rand.New(rand.NewPCG(seed, 3)), now: time.Unix(0, 0), servers: map[string][]*turn{}}
	labels, plans := map[string]map[string]string{}, map[string]rollout.Outcome{}
	for i := range 2 + p.IntN(4) {
		name := fmt.Sprint("s", i)
		labels[name], plans[name] = map[string]string{}, rollout.OutcomeFit
	}
	for i := range p.sets {
		set := rollout.Set{
			ID: []string{"red", "blue"}[i], Selector: all, Waves: []rollout.Wave{{Name: "all"}}, Limits: rollout.Limits{All: p.IntN(3)},
			Swap: rollout.Swap{When: rollout.WhenWaveReady},
		}.Defaults()
		state, err := rollout.Begin(set, labels)
		if err != nil {
			panic(err)
		}
		held := []rollout.Freeze{{Until: p.now.Add(time.Second)}} // none starts yet
		state, _ = rollout.Next(set, state, rollout.Facts{Now: p.now, Plans: plans, Freezes: held})
		p.sets[i] = &paired{set: set, state: state, obeyed: map[string]uint64{}, version: map[string]uint64{}, turns: map[string]*turn{}}
	}
	return p
}

func (p *pair) broken(format string, args ...any) {
	panic(&Violation{Law: lawWaits, What: fmt.Sprintf(format, args...) + "\n" + strings.Join(p.trace, "\n")})
}

// settle goes on until nothing happens any more.
func (p *pair) settle() {
	for range 2000 {
		p.now = p.now.Add(time.Second)
		one := p.sets[p.IntN(len(p.sets))]
		switch p.IntN(3) {
		case 0:
			p.decide(one)
		case 1:
			if n := len(one.orders); n > 0 {
				i := p.IntN(n)
				a := one.orders[i]
				one.orders = slices.Delete(one.orders, i, i+1)
				p.obey(one, a)
			}
		default:
			p.work()
		}
	}
	for _, one := range p.sets { // with the last news
		p.decide(one)
	}
}

// decide is a step of a set's driver.
func (p *pair) decide(one *paired) {
	f := rollout.Facts{Now: p.now, Requests: one.asked}
	for _, m := range one.state.Members {
		t := one.turns[m.Server]
		if t == nil {
			continue
		}
		r := rollout.Report{
			Server: m.Server, Version: one.version[m.Server], Order: one.obeyed[m.Server], Attempt: t.attempt, Status: t.status,
		}
		if before := p.before(m.Server, t); t.status == rollout.StatusWaiting && before != nil {
			r.WaitsFor = before.of.set.ID
		}
		f.Reports = append(f.Reports, r)
	}
	var actions []rollout.Action
	one.state, actions = rollout.Next(one.set, one.state, f)
	for _, a := range actions {
		if a.Server != "" {
			one.orders = append(one.orders, a)
		}
	}
}

// before is the change that a change waits for; nil if it is the first.
func (p *pair) before(server string, t *turn) *turn {
	for _, other := range p.servers[server] {
		if other == t {
			return nil
		}
		if !other.over() {
			return other
		}
	}
	return nil
}

// waitedFor are the sets whose changes come before those of a set.
func (p *pair) waitedFor(one *paired) (ids []string) {
	for server, t := range one.turns {
		if before := p.before(server, t); !t.over() && before != nil {
			ids = append(ids, before.of.set.ID)
		}
	}
	return ids
}

// obey carries out an order.
func (p *pair) obey(one *paired, a rollout.Action) {
	if a.Order <= one.obeyed[a.Server] {
		return
	}
	one.obeyed[a.Server] = a.Order
	one.version[a.Server]++
	t := one.turns[a.Server]
	switch a.Verb {
	case rollout.VerbStart:
		t = &turn{of: one, status: rollout.StatusWaiting, attempt: a.Attempt}
		one.turns[a.Server] = t
		p.servers[a.Server] = append(p.servers[a.Server], t)
	case rollout.VerbRelease:
		t.status = rollout.StatusDone
	case rollout.VerbAbort:
		if t == nil { // its start comes too late
			t = &turn{of: one, attempt: a.Attempt}
			one.turns[a.Server] = t
		}
		t.status = rollout.StatusAborted
	}
	p.trace = append(p.trace, fmt.Sprintf("%s %s: %s", one.set.ID, a.Server, a.Verb))
}

// work lets the first change of a server go on.
func (p *pair) work() {
	for _, name := range []string{"s0", "s1", "s2", "s3", "s4"} {
		for _, t := range p.servers[name] {
			if t.over() || p.IntN(2) == 0 || p.before(name, t) != nil {
				continue
			}
			switch t.status {
			case rollout.StatusWaiting:
				t.status = rollout.StatusRunning
			case rollout.StatusRunning:
				t.status = rollout.StatusReady
			default:
				continue
			}
			t.of.version[name]++
		}
	}
}
