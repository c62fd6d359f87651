package throttle

import (
	"context"
	"database/sql"
	"math"
	"sync"
	"time"
)

// The duty of a Governor: up to the number of workers it is how many of them work, 1.5 being the second
// worker half of its time; from there to one more it makes their chunks longer.
const (
	leastDuty = 0.02 // there is always some work
	firstDuty = 0.1  // with an application at work
)

// What chunks take beside an application. A chunk's commit has the binlog written and synced for
// all of it at once, and every other commit waits for that.
const (
	ShortChunk = 5 * time.Millisecond
	longerBy   = 20 * time.Millisecond // for each worker
)

// How the duty is steered (docs/adr/0002-closed-loop.md has the reasons and the plots).
const (
	lookEvery = 100 * time.Millisecond
	idlePoll  = time.Second             // between looks, if no worker has come for idleAfter:
	idleAfter = 5 * time.Second         // the looks themselves cost the server something
	restFor   = 300 * time.Millisecond  // of every cycle nothing is begun, of which
	restEnds  = 100 * time.Millisecond  // what was begun before may still run
	workFor   = 900 * time.Millisecond  // is the rest of a cycle, at first, and
	workLong  = 3600 * time.Millisecond // where nothing changes any more
)

// Governor says how much of the workers' time may be work, so that the application's statements are about as
// fast as without it. It is safe for concurrent use.
//
// It rests for a moment again and again, and compares the mean time of a statement, kind by kind, while it works
// with that while it rests: what differs is its own doing, whatever else goes up and down. Of these differences
// it learns what its work costs (see cost), and works as much as may be tolerated. It works more, step by
// step, where that is not sure yet, and much less at once where statements suddenly become slower.
type Governor struct {
	watch watch

	mu         sync.Mutex
	most       float64 // the highest duty
	slower     float64 // by how much statements may take longer
	duty       float64 // while it works
	allowed    float64 // now: the duty, or 0 in a rest
	cost       cost
	level      level
	statements statements
	state      state
	since      time.Time     // the state has lasted
	working    activity      // of this cycle, while it works
	resting    activity      // of this cycle, while it rests
	length     time.Duration // of the work of a cycle
	busy       bool          // statements run all the time, as the last rest has shown
	changed    chan struct{} // closed and replaced when more may work
	known      bool          // a rest has shown it since the first look, or the first after a while
	worked     bool          // in this cycle: a worker has come from work
	asked      time.Time     // when a worker last came
	woken      chan struct{} // has room for one word that one has come after a while
}

// NewGovernor returns one that lets little be done until Run has looked; with free, all, and Run is not called. The
// application's statements may take longer by a part of slower.
func NewGovernor(db *sql.DB, workers int, slower float64, free bool) *Governor {
	g := &Governor{
		watch:   watch{db: db},
		most:    float64(workers) + 1,
		slower:  slower,
		changed: make(chan struct{}),
		woken:   make(chan struct{}, 1),
	}
	g.cost.guess = priorLow
	g.duty, g.allowed, g.length = firstDuty, leastDuty, workFor
	if free {
		g.duty, g.allowed = g.most, g.most
	}
	return g
}

// Free has all be done, until Run is called.
func (g *Governor) Free() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.duty, g.busy = g.most, false
	g.set(g.most)
}

// Bound changes the number of workers, and by how much statements may take longer.
func (g *Governor) Bound(workers int, slower float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slower = slower
	all := g.duty == g.most
	if g.most = float64(workers) + 1; all || g.duty > g.most {
		g.duty = g.most
	}
	if g.allowed > 0 {
		g.set(g.duty)
	}
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

// state is what a Governor does. A cycle is a time of work and a rest after it:
//
//	resting   nothing is begun; when its time is over, the cycle is judged, and work starts
//	working   as much is done as the duty says; an alarm, or the end of its time, starts a rest
//	free      the application is idle: all workers work, and nothing is learned
//
// The first look, the first one after a while, and the first one at which the application is back
// start a rest in any state.
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
	firstLook := a.over == 0 || a.over > 2*idlePoll // or the first one after a while
	// A look that a worker has brought about may be of a moment in which nothing ends.
	idle := a.idle() && a.over >= lookEvery/2
	switch {
	case firstLook:
		g.known = false
		g.startRest(now)
	case idle:
		g.setFree(now)
	case g.duty == g.most && g.level.looks == 0: // the application has come back
		g.duty = firstDuty
		g.level.observe(a)
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
	if alarming := g.level.observe(a); alarming {
		g.duty, g.length = max(leastDuty, g.duty/4), workFor
		g.cost = cost{guess: priorHigh}
		g.working = activity{}
		g.startRest(now)
	} else if now.Sub(g.since) >= g.length {
		g.startRest(now)
	}
}

// observeRest judges the cycle when the rest is over. What was begun before the rest may still run at its beginning.
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

// setFree lets all be done, and forgets what was learned of an application that has gone.
func (g *Governor) setFree(now time.Time) {
	g.state, g.since = free, now
	g.duty, g.length, g.level, g.busy = g.most, workFor, level{}, false
	g.cost = cost{guess: priorLow}
	g.working, g.resting, g.statements = activity{}, activity{}, statements{}
	g.set(g.most)
}

// judge ends a cycle: it takes into account what its work has cost, and says how much may be done
// next. Where no worker has come from work (a pause, a gate, a long chunk) nothing has been
// learned.
func (g *Governor) judge() {
	working, worked, running := g.working, g.worked, g.resting.running()
	g.working, g.worked, g.known = activity{}, false, true
	g.busy = running >= together
	g.statements.rested(g.resting)
	if !worked {
		return
	}
	if working.ended() > 0 && g.resting.ended() > 0 {
		g.cost.observe(g.duty, math.Log(working.against(g.resting.means())))
	}
	before := g.duty
	g.duty = min(g.most, max(leastDuty, g.cost.next(g.duty, tolerated(g.slower, running))))
	if r := g.duty / before; r > 0.8 && r <= climb {
		g.length = min(workLong, 2*g.length)
	} else {
		g.length = workFor
	}
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
	return min(g.duty, g.most-1)
}

// StatementTimes is what the application's statements take.
func (g *Governor) StatementTimes() StatementTimes {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.statements.times()
}

// Busy says that one statement or more of the application's runs all the time, as far as can be
// seen: what can wait until later should.
func (g *Governor) Busy() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.busy
}

// Slowdown is the part by which the application's statements take longer on average through this work.
// It is negative if that is not known: the application is idle, Run is not called, or has just begun.
func (g *Governor) Slowdown() float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cost.n < 1 || g.duty == g.most {
		return -1
	}
	slope, _ := g.cost.slope()
	return max(0, math.Expm1(slope*g.duty))
}

// Chunk is the time that a chunk of work may take now, up to most.
func (g *Governor) Chunk(most time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	longer := max(0, g.duty-(g.most-1))
	short := ShortChunk + time.Duration((g.duty-longer)*float64(longerBy))
	return min(most, short+time.Duration(longer*float64(most-short)))
}

// Gate blocks while the worker with that number, the first being 0, must hold still: after
// work that took so long, until the work is no more than its share of the time.
func (g *Governor) Gate(ctx context.Context, worker int, took time.Duration) error {
	return g.rest(ctx, worker, took, math.MaxInt64)
}

// Pace is Gate for work that is as short as Chunk says. Where a chunk takes long all the same, the
// server was busy with others, and what it has cost them is not what it took: the rest is a second
// at most, so that a run comes to an end on a server that is overloaded for as long as it lasts.
func (g *Governor) Pace(ctx context.Context, worker int, took time.Duration) error {
	return g.rest(ctx, worker, took, time.Second)
}

func (g *Governor) rest(ctx context.Context, worker int, took, most time.Duration) error {
	g.arrived(took)
	return rest(ctx, took, most, time.Now(), func() (float64, <-chan struct{}) {
		g.mu.Lock()
		defer g.mu.Unlock()
		return min(1, min(g.allowed, g.most-1)-float64(worker)), g.changed // the last part of the duty is of longer chunks
	})
}

// arrived records that a worker has come, after work that took so long, and makes Run look at
// once if it is the first one after a while.
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
