package throttle

import (
	"context"
	"database/sql"
	"math"
	"sync"
	"time"
)

// The drive of a Governor: up to the number of workers it is how many of them work, 1.5 being the second one
// half of its time; from there to one more it makes their chunks longer.
const (
	leastDrive = 0.02 // there is always some work
	firstDrive = 0.1  // with an application at work
)

// What chunks take beside an application. A chunk's commit has the binlog written and synced for
// all of it at once, and every other commit waits for that.
const (
	ShortChunk = 5 * time.Millisecond
	longerBy   = 20 * time.Millisecond // for each worker
)

// How the drive is steered (docs/adr/0002-closed-loop.md has the reasons and the plots).
const (
	lookEvery = 100 * time.Millisecond
	seldom    = time.Second             // where no worker has come for
	leisure   = 5 * time.Second         // such a time: the looks themselves cost the server something
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

	mu      sync.Mutex
	most    float64 // drive
	slower  float64 // by how much statements may take longer
	drive   float64 // while it works
	open    float64 // now: the drive, or 0 in a rest
	cost    cost
	level   level
	working activity // of this cycle
	resting activity // likewise
	felt    felt
	resumes bool // it works; else it rests
	turned  time.Time
	length  time.Duration // of the work of a cycle
	busy    bool          // statements run all the time, as the last rest has shown
	changed chan struct{} // closed and replaced when more may work
	known   bool          // a rest has shown it since the first look, or the first after a while
	worked  bool          // in this cycle: a worker has come from work
	asked   time.Time     // when a worker last came
	woken   chan struct{} // has room for one word that one has come after a while
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
	g.cost.guess = calm
	g.drive, g.open, g.length = firstDrive, leastDrive, workFor
	if free {
		g.drive, g.open = g.most, g.most
	}
	return g
}

// Free has all be done, until Run is called.
func (g *Governor) Free() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drive, g.busy = g.most, false
	g.set(g.most)
}

// Bound changes the number of workers, and by how much statements may take longer.
func (g *Governor) Bound(workers int, slower float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slower = slower
	all := g.drive == g.most
	if g.most = float64(workers) + 1; all || g.drive > g.most {
		g.drive = g.most
	}
	if g.open > 0 {
		g.set(g.drive)
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
		g.saw(a, time.Now())
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
	if g.known && now.Sub(g.asked) > leisure {
		return seldom
	}
	return lookEvery
}

// saw takes a look into account.
func (g *Governor) saw(a activity, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.felt.saw(a)
	switch {
	case a.over == 0 || a.over > 2*seldom: // the first one, or the first after a while
		g.known = false
		g.pause(now)
	case a.idle() && a.over >= lookEvery/2: // a look that a worker has brought about may be of a moment in which nothing ends
		g.drive, g.length, g.level, g.busy = g.most, workFor, level{}, false
		g.cost = cost{guess: calm}
		g.working, g.resting, g.resumes, g.turned = activity{}, activity{}, true, now
		g.felt = felt{}
		g.set(g.most)
	case g.drive == g.most && g.level.looks == 0: // the application has come back
		g.drive = firstDrive
		g.level.saw(a)
		g.pause(now)
	case g.resumes:
		g.working.add(a)
		if g.level.saw(a) { // it is alarming
			g.drive, g.length = max(leastDrive, g.drive/4), workFor
			g.cost = cost{guess: dear}
			g.working = activity{}
			g.pause(now)
		} else if now.Sub(g.turned) >= g.length {
			g.pause(now)
		}
	default:
		if now.Sub(g.turned)-a.over >= restEnds-lookEvery/10 {
			g.resting.add(a)
		}
		if now.Sub(g.turned) >= restFor && g.resting.over > 0 {
			g.judge()
			g.resumes, g.turned = true, now
			g.set(g.drive)
		}
	}
}

// pause has nothing begun for a while.
func (g *Governor) pause(now time.Time) {
	g.resumes, g.turned = false, now
	g.resting = activity{}
	g.set(0)
}

// judge ends a cycle: it takes into account what its work has cost, and says how much may be done
// next. Where no worker has come from work (a pause, a gate, a long chunk) nothing has been
// learned.
func (g *Governor) judge() {
	working, worked, running := g.working, g.worked, g.resting.running()
	g.working, g.worked, g.known = activity{}, false, true
	g.busy = running >= together
	g.felt.rested(g.resting)
	if !worked {
		return
	}
	if working.ended() > 0 && g.resting.ended() > 0 {
		g.cost.saw(g.drive, math.Log(working.against(g.resting.means())))
	}
	before := g.drive
	g.drive = min(g.most, max(leastDrive, g.cost.next(g.drive, tolerated(g.slower, running))))
	if r := g.drive / before; r > 0.8 && r <= climb {
		g.length = min(workLong, 2*g.length)
	} else {
		g.length = workFor
	}
}

// set opens the gate for so many. REQUIRES: mu is held.
func (g *Governor) set(open float64) {
	if open > g.open {
		close(g.changed)
		g.changed = make(chan struct{})
	}
	g.open = open
}

// Allowed is the number of workers that may work now; with 1.5 the second one works half of
// its time.
func (g *Governor) Allowed() float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return min(g.drive, g.most-1)
}

// Felt is what the application's statements take.
func (g *Governor) Felt() Felt {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.felt.told()
}

// Busy says that one statement or more of the application's runs all the time, as far as can be
// seen: what can wait until later should.
func (g *Governor) Busy() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.busy
}

// Slower is the part by which the application's statements take longer on average through this work, as far as it has
// learned; negative where it is not known: nobody is there, it heeds nobody, or it has just begun.
func (g *Governor) Slower() float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cost.n < 1 || g.drive == g.most {
		return -1
	}
	slope, _ := g.cost.slope()
	return max(0, math.Expm1(slope*g.drive))
}

// Chunk is the time that a chunk of work may take now, up to most.
func (g *Governor) Chunk(most time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	longer := max(0, g.drive-(g.most-1))
	short := ShortChunk + time.Duration((g.drive-longer)*float64(longerBy))
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
	g.come(took)
	return rest(ctx, took, most, time.Now(), func() (float64, <-chan struct{}) {
		g.mu.Lock()
		defer g.mu.Unlock()
		return min(1, min(g.open, g.most-1)-float64(worker)), g.changed // the last part of the drive is of longer chunks
	})
}

// come takes into account that a worker has come, after work that took so long, and has Run look at
// once if it is the first one after a while.
func (g *Governor) come(took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if now.Sub(g.asked) > leisure {
		select {
		case g.woken <- struct{}{}:
		default:
		}
	}
	g.asked, g.worked = now, g.worked || took > 0
}
