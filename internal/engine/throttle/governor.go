package throttle

import (
	"context"
	"database/sql"
	"math"
	"sync"
	"time"
)

// The duty of a Governor is the number of workers that work: at 1.5 the second worker works half of
// the time.
const (
	firstDuty = 0.1 // with an application at work
	// firstFree is the same where its sessions mostly wait for something else.
	firstFree = 0.3
)

// ShortChunk is the time of a chunk while an application uses the server, whatever the duty. A chunk's
// commit writes and syncs the chunk's binlog at once, and every other commit waits for that. Next to an
// application that hardly uses the server, a chunk may take longerAlone more.
const (
	ShortChunk  = 10 * time.Millisecond
	longerAlone = 90 * time.Millisecond
)

// How the duty is steered (docs/adr/0002-closed-loop.md has the reasons and the plots).
const (
	lookEvery = 100 * time.Millisecond
	// idlePoll is the time between looks if no worker has come for idleAfter, because looks cost
	// the server something.
	idlePoll  = time.Second
	idleAfter = 5 * time.Second
	// restFor is the part of a cycle in which no work begins.
	restFor = 300 * time.Millisecond
	// restEnds is the first part of the rest. In it, work from before the rest may still run.
	restEnds = 100 * time.Millisecond
	// workFor is the working part of a cycle at the beginning of a run.
	workFor  = 900 * time.Millisecond
	workLong = 3600 * time.Millisecond // where nothing changes any more
)

// Governor limits the part of the workers' time that is work. The application's statements are to
// be about as fast as without that work. It is safe for concurrent use.
//
// It rests for a moment again and again. It compares the mean time of a statement, kind by kind,
// while it works and while it rests. The difference is its own effect, whatever else goes up and
// down. From these differences it learns the cost of its work (see cost), and works as much as is
// tolerated. If the cost is not certain yet, it increases the work step by step. If statements
// suddenly become slower, it reduces the work at once.
type Governor struct {
	watch watch

	mu         sync.Mutex
	most       float64 // the highest duty: all workers
	hill       hill    // finds their number
	slower     Slowdown
	judged     Slowdown // the limit of the last cycle
	duty       float64  // while it works
	allowed    float64  // now: the duty, or 0 in a rest
	cost       cost
	level      level
	statements statements
	state      state
	since      time.Time     // the state has lasted
	working    activity      // of this cycle, while it works
	resting    activity      // of this cycle, while it rests
	length     time.Duration // of the work of a cycle
	hardly     float64       // how idle the application is, 0 to 1
	// busy means that, in the last rest, statements ran all the time.
	busy bool
	// changed is closed and replaced when more workers may work.
	changed chan struct{}
	// known means that busy comes from a rest after the first look, or after the first look after a
	// pause.
	known bool
	// worked means that a worker has come from work in this cycle.
	worked bool
	asked  time.Time // when a worker last came
	// woken has room for one message: a worker has come after a pause.
	woken chan struct{}
}

// NewGovernor returns a Governor that allows little work until Run has looked. With free it allows
// all work, and Run is not called. The application's statements may take longer by slower.
func NewGovernor(db *sql.DB, workers Workers, slower Slowdown, all bool) *Governor {
	g := &Governor{
		watch:   watch{db: db},
		most:    float64(workers.First),
		hill:    hill{bounds: workers, workers: workers.First},
		slower:  slower,
		judged:  slower,
		changed: make(chan struct{}),
		woken:   make(chan struct{}, 1),
	}
	g.cost.guess = priorLow
	g.duty, g.allowed, g.length = firstDuty, slower.least(), workFor
	if all {
		g.Free()
	}
	return g
}

// Free has all be done, until Run is called.
func (g *Governor) Free() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state, g.duty, g.busy = free, g.most, false
	g.set(g.most)
}

// Bound changes the number of workers, and by how much statements may take longer.
func (g *Governor) Bound(workers Workers, slower Slowdown) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slower != g.slower {
		g.slower, g.length = slower, workFor // so that the cycle that follows it comes soon
	}
	g.hill.bound(workers, g.hill.room)
	g.man()
}

// Room takes the number of workers for which the server has connections. The number of workers grows no
// further than that, and not at all before Room was called.
func (g *Governor) Room(workers int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hill.bound(g.hill.bounds, workers)
	g.man()
}

// man lets as many workers work as the hill has found. REQUIRES: mu is held.
func (g *Governor) man() {
	if g.most = float64(g.hill.workers); g.state == free || g.duty > g.most {
		g.duty = g.most
	}
	if g.allowed > 0 {
		g.set(g.duty)
	}
}

// Copied records a chunk of rows that a worker has copied. The number of workers may change by it.
func (g *Governor) Copied(rows int, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.duty < g.most {
		g.hill.hold()
		return
	}
	g.hill.copied(rows, took, g.state != free, time.Now())
	g.man()
}

// Workers is the number of workers that are of use now.
func (g *Governor) Workers() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hill.workers
}

// Run looks at the application until the context ends, when it returns nil. On an error all may be done.
func (g *Governor) Run(ctx context.Context) error {
	for {
		a, err := g.watch.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			g.Free()
			return err
		}
		g.observe(a, time.Now())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(g.every(time.Now())):
		case <-g.woken:
		}
	}
}

// every is the time from now until the next look.
func (g *Governor) every(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known && now.Sub(g.asked) > idleAfter {
		return idlePoll
	}
	return lookEvery
}

// state is the activity of a Governor. A cycle is a time of work and a rest after it:
//
//	resting   no work begins; when its time is over, the cycle is judged, and work starts
//	working   as much is done as the duty allows; an alarm, or the end of its time, starts a rest
//	free      the application is idle: all workers work, and nothing is learned
//
// Three looks start a rest in any state: the first look, the first one after a pause, and the first
// one that finds the application back.
type state int

const (
	resting state = iota
	working
	free
)

// observe takes a look into account.
func (g *Governor) observe(a activity, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.statements.observe(a)
	firstLook := a.over == 0 || a.over > 2*idlePoll // or the first after a pause
	// A look that a worker has caused may cover a moment in which no statement ends.
	idle := a.idle() && a.over >= lookEvery/2
	switch {
	case firstLook:
		g.known = false
		g.startRest(now)
	case idle:
		g.setFree(now)
	case g.state == free: // the application has come back
		g.duty = firstDuty
		g.level.observe(a, g.tolerated())
		g.startRest(now)
	case g.state == resting:
		g.observeRest(a, now)
	default:
		g.observeWork(a, now)
	}
}

// observeWork ends the work by a rest when its time is over, or at once if statements suddenly take much longer.
func (g *Governor) observeWork(a activity, now time.Time) {
	g.working.add(a)
	if alarming := g.level.observe(a, g.tolerated()); alarming {
		g.duty, g.length = max(g.slower.least(), g.duty/4), workFor
		g.cost = cost{guess: priorHigh}
		g.working = activity{}
		g.startRest(now)
	} else if now.Sub(g.since) >= g.length {
		g.startRest(now)
	}
}

// observeRest judges the cycle when the rest is over. At the beginning of a rest, earlier work may
// still run.
func (g *Governor) observeRest(a activity, now time.Time) {
	rested := now.Sub(g.since)
	if rested-a.over >= restEnds-lookEvery/10 {
		g.resting.add(a)
	}
	if rested >= restFor && g.resting.over > 0 {
		g.judge()
		g.state, g.since = working, now
		g.set(g.duty)
	}
}

// startRest lets nothing be begun for a while.
func (g *Governor) startRest(now time.Time) {
	g.state, g.since = resting, now
	g.resting = activity{}
	g.set(0)
}

// setFree allows all work, and forgets the costs that it learned: that application has gone.
func (g *Governor) setFree(now time.Time) {
	g.state, g.since = free, now
	g.duty, g.length, g.level, g.busy = g.most, workFor, level{}, false
	g.cost, g.hardly = cost{guess: priorLow}, 0
	g.working, g.resting, g.statements = activity{}, activity{}, statements{}
	g.set(g.most)
}

// judge ends a cycle: it records what the work has cost, and decides how much work may be done
// next. If no worker has come from work (a pause, a gate, a long chunk), it learns nothing.
func (g *Governor) judge() {
	working, worked, first := g.working, g.worked, !g.known
	g.working, g.worked, g.known = activity{}, false, true
	g.statements.rested(g.resting)
	alone := g.statements.alone
	g.cost.running = alone.running()
	g.hardly = g.cost.hardly(alone.running())
	tolerated := g.tolerated()
	g.busy = g.cost.right(tolerated) < g.most
	before := g.duty * g.slower.fewer() / g.judged.fewer() // an operator or a deadline may have changed the limit
	g.judged = g.slower
	if first && g.cost.n == 0 && g.duty == firstDuty {
		g.duty = g.begin(g.cost.right(tolerated), alone.used())
		return
	}
	if working.ended() > 0 && g.resting.ended() > 0 && worked {
		g.cost.observe(g.duty, math.Log(working.against(g.resting.means())))
	}
	if g.duty = min(g.most, max(g.slower.least(), before)); !worked {
		return
	}
	g.duty = min(g.most, max(g.slower.least(), g.cost.next(before, tolerated, g.slower.second(tolerated, g.hardly), g.rise())))
	if r := g.duty / before; r > 0.8 && r <= climb {
		g.length = min(workLong, 2*g.length)
	} else {
		g.length = workFor
	}
}

// begin is the duty of the first cycle, if right is what the guess allows.
func (g *Governor) begin(right, used float64) float64 {
	switch {
	case g.hardly == 1:
		return max(firstDuty, min(g.most, right))
	case used < usedMuch:
		return max(firstDuty, min(firstFree, right))
	}
	return firstDuty
}

// tolerated is how much longer statements may take now, as a difference of logarithms.
func (g *Governor) tolerated() float64 {
	alone := g.statements.alone
	return g.slower.tolerated(alone.mean().Seconds(), g.hardly, alone.used())
}

// rise is the factor that a cycle may add.
func (g *Governor) rise() float64 {
	if g.statements.alone.used() < usedMuch {
		return riseFast
	}
	return rise
}

// set lets so many work. REQUIRES: mu is held.
func (g *Governor) set(allowed float64) {
	if allowed > g.allowed {
		close(g.changed)
		g.changed = make(chan struct{})
	}
	g.allowed = allowed
}

// Allowed is the number of workers that may work now; with 1.5 the second one works half of
// its time.
func (g *Governor) Allowed() float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.duty
}

// StatementTimes is what the application's statements take.
func (g *Governor) StatementTimes() StatementTimes {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.statements.times()
}

// Busy reports whether at least one statement of the application runs all the time, as far as the
// server shows it. Work that can wait until later should then wait.
func (g *Governor) Busy() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.busy
}

// Slowdown returns the fraction by which this work makes the application's statements slower on
// average. It is negative if that is not known: the application is idle, Run is not called, or has
// just begun.
func (g *Governor) Slowdown() float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cost.n < 1 || g.state == free {
		return -1
	}
	slope, _ := g.cost.slope()
	return max(0, math.Expm1(slope*g.duty))
}

// Chunk is the time that a chunk of work may take now, up to most.
func (g *Governor) Chunk(most time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == free {
		return most
	}
	return min(most, ShortChunk+time.Duration(g.hardly*float64(longerAlone)))
}

// Threads is how many threads of the server a statement of ours may use now: most of them, or one while an
// application uses the server more than hardly.
func (g *Governor) Threads(most int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == free || g.hardly == 1 {
		return most
	}
	return 1
}

// Gate blocks while the worker with that number, counted from 0, must not work. took is the time of
// its last work, which is as short as Chunk asks. Gate returns when work is no more than the worker's
// share of the time. If a chunk takes long all the same, the server was busy with others, and its time
// does not show its cost. So the rest is at most a second: a run ends even on a server that is
// overloaded all the time.
func (g *Governor) Gate(ctx context.Context, worker int, took time.Duration) error {
	g.arrived(took)
	return rest(ctx, took, time.Second, time.Now(), func() (float64, <-chan struct{}) {
		g.mu.Lock()
		defer g.mu.Unlock()
		return min(1, g.allowed-float64(worker)), g.changed
	})
}

// arrived records that a worker has come, after work that took so long. If it is the first one
// after a pause, arrived makes Run look at once.
func (g *Governor) arrived(took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if now.Sub(g.asked) > idleAfter {
		select {
		case g.woken <- struct{}{}:
		default:
		}
	}
	g.asked, g.worked = now, g.worked || took > 0
}
