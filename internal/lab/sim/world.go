package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"midstream/internal/engine/checkpoint"
)

// world is the server, the application, and the run of Midstream that works on them.
type world struct {
	opts   Options
	defect Defect
	rng    *rand.Rand
	keys   *universe

	groups  []group
	visible int // the groups before it are committed in the engine

	latest   []row       // the source as of the end of the binlog, by identity
	source   []row       // the source as a consistent read sees it
	history  [][]version // by identity
	versions uint32

	lockedBy   []int // by identity: the group of the last change, which locks the row until it is visible
	preparedBy []*xa
	prepared   []*xa
	xids       int
	lockAsked  bool // for the source, by the cut-over

	shadow []slot
	open   []*txn
	beat   uint64 // in the heartbeat's row
	saved  *checkpoint.Checkpoint
	stated int // group that wrote the state table last: its rows are locked until it is visible
	// What the checkpoint says, for law L5.
	judged       *checkpoint.Checkpoint
	judgedFrom   int
	judgedCopied []bool
	// underWay are statements that a run which is gone had sent, but for the COMMITs of
	// its syncs.
	underWay []*statement

	processes []*process // of the server and the application
	client    *client
	steps     int
	quiet     bool // the application has fallen silent, and nothing fails any more
	finished  bool
	passed    Passed
	current   string // who runs
	noted     int
	notes     [mostNotes]note // a ring
}

// Passed counts what a run went through, to see that the interesting things happen.
type Passed struct {
	Steps, Groups, Crashes, Resumes, Attempts, Drains int
	Chunks, Batches, Dropped, Repeated, Widened       int
}

const (
	quietSteps = 30_000 // in which a run must come to its end once it is quiet
	mostNotes  = 100
)

type note struct {
	step int
	who  string
	what string
	n    int
}

func newWorld(seed uint64, o Options, d Defect) *world {
	w := &world{opts: o, defect: d, rng: rand.New(rand.NewPCG(seed, 2))}
	w.keys = newUniverse(o, w.rng)
	n := len(w.keys.of)
	w.latest, w.source = make([]row, n), make([]row, n)
	w.lockedBy, w.preparedBy = make([]int, n), make([]*xa, n)
	w.history = make([][]version, n)
	w.shadow = make([]slot, w.keys.slots)
	for id := range w.latest {
		w.lockedBy[id] = -1
		if w.roll(o.Fill) {
			d := &draft{w: w, rows: map[int]row{}}
			d.set(id, row{spelling: d.spell(id), unique: d.values(row{})})
			w.latest[id] = d.rows[id]
		}
		w.history[id] = []version{{row: w.latest[id], visible: -1, rows: -1}}
	}
	copy(w.source, w.latest)
	w.processes = []*process{
		newProcess("application", w.application), newProcess("engine", w.engine),
		newProcess("xa", w.resolver), newProcess("server", w.cleaner),
	}
	w.client = newClient(w)
	return w
}

// roll is true in the given percentage of cases.
func (w *world) roll(percent int) bool { return percent > 0 && w.rng.IntN(100) < percent }

// run steps until the swap.
func (w *world) run() {
	defer w.stop()
	for !w.finished {
		w.step()
	}
}

func (w *world) stop() {
	w.client.stop()
	for _, p := range w.processes {
		p.stop()
	}
}

// step has one process go on, and then holds the laws against the world.
func (w *world) step() {
	w.steps++
	if !w.quiet && w.steps >= w.opts.Steps {
		w.quiet = true
		w.weigh()
	}
	if w.steps > 20*w.opts.Steps+quietSteps {
		w.fail("progress", "the run has not come to its end: %s", w.client.state())
	}
	if w.steps%w.opts.Calm == 0 {
		w.weigh()
	}
	if !w.quiet && w.rng.IntN(10_000) < w.opts.Crash {
		w.crash()
		return
	}
	p := w.pick()
	w.current = p.name
	p.resume()
	w.check()
}

// weigh gives the processes new weights, so that now this one and now that one lags.
func (w *world) weigh() {
	for _, p := range w.all() {
		p.weight = [...]int{1, 4, 16, 64}[w.rng.IntN(4)]
		if w.quiet {
			p.weight = 16
		}
		if w.quiet && p.name == "reader" {
			p.weight = 64
		}
	}
}

func (w *world) all() []*process {
	return append(w.processes[:len(w.processes):len(w.processes)], w.client.processes...)
}

// pick chooses a process that can go on. If all that can are asleep, time passes.
func (w *world) pick() *process {
	var ready [24]*process
	n, sum := 0, 0
	for _, awake := range [...]bool{true, false} {
		for _, list := range [...][]*process{w.processes, w.client.processes} {
			for _, p := range list {
				if (p.until <= w.steps) == awake && p.canRun() {
					ready[n] = p
					n++
					sum += p.weight
				}
			}
		}
		if n > 0 {
			break
		}
	}
	if n == 0 {
		w.fail("progress", "everyone waits for everyone: %s", w.client.state())
	}
	r := w.rng.IntN(sum)
	for _, p := range ready[:n] {
		if r -= p.weight; r < 0 {
			return p
		}
	}
	panic("unreachable")
}

// crash throws the run away, and with it all that it had in memory. What it had sent to
// the server may still be carried out.
func (w *world) crash() {
	w.current = "crash"
	w.note("the run is gone", w.steps)
	w.passed.Crashes++
	for _, statement := range w.client.sending {
		if w.roll(50) {
			w.underWay = append(w.underWay, statement)
		}
	}
	w.client.stop()
	for _, t := range w.open {
		t.waits = nil
		t.sent = t.written || t.sent && w.roll(50)
	}
	w.lockAsked = false
	w.client = newClient(w)
}

// cleaner is the server's end of connections that were lost: their transactions are
// rolled back, but for those whose COMMIT had arrived.
func (w *world) cleaner(p *process) {
	underWay := func() bool { return len(w.underWay) > 0 && w.visible > w.stated }
	for {
		p.wait(func() bool { return underWay() || w.orphan() != nil })
		if underWay() && (w.orphan() == nil || w.roll(50)) {
			statement := w.underWay[0]
			w.underWay = w.underWay[1:]
			w.note("carries out a statement of a former run", len(w.underWay))
			statement.run()
			continue
		}
		t := w.orphan()
		w.note("ends a transaction of the former run", len(t.locks))
		if t.sent {
			t.write()
		} else {
			t.rollback()
		}
	}
}

// orphan is a transaction whose run is gone.
func (w *world) orphan() *txn {
	for _, t := range w.open {
		if t.of != w.client && !t.written {
			return t
		}
	}
	return nil
}

func (w *world) note(what string, n int) {
	w.notes[w.noted%mostNotes] = note{step: w.steps, who: w.current, what: what, n: n}
	w.noted++
}

// trace is the last notes, one a line.
func (w *world) trace() string {
	var b strings.Builder
	for i := max(0, w.noted-mostNotes); i < w.noted; i++ {
		n := w.notes[i%mostNotes]
		fmt.Fprintf(&b, "  %6d %-12s %s %d\n", n.step, n.who, n.what, n.n)
	}
	return b.String()
}
