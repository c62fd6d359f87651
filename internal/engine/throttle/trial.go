package throttle

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
)

// Drive lets so many workers work next to an application that is so idle, 0 to 1, and no session is
// observed, until Drive is called again. Beyond all workers, their chunks are long. REQUIRES: Run is not
// at work.
func (g *Governor) Drive(workers, idle float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.duty, g.state, g.hardly = min(workers, g.most), working, idle
	if workers > g.most {
		g.state = free
	}
	g.set(g.duty)
}

// Chunks remembers when chunks were copied. It is safe for concurrent use.
type Chunks struct {
	mu     sync.Mutex
	chunks []event.ChunkCopied
}

// Listen is an event.Listener.
func (c *Chunks) Listen(e event.Event) {
	chunk, is := e.(event.ChunkCopied)
	if !is {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chunks = append(c.chunks, chunk)
}

// warmUp is the first part of a sample; it does not count.
const warmUp = time.Second

// Rate returns the rows copied in a second from a moment to the end, without the warm-up, and all the
// rows that were copied.
func (c *Chunks) Rate(began, ended time.Time) (perSecond float64, rows int64) {
	from := began
	if ended.Sub(began) > 2*warmUp {
		from = began.Add(warmUp)
	}
	counted, last := c.between(from, ended)
	rows, _ = c.between(time.Time{}, ended)
	if last.IsZero() {
		return 0, rows
	}
	return float64(counted) / max(1e-3, last.Sub(from).Seconds()), rows
}

// between returns the rows that were copied after a moment and up to another one, and when the last of
// them was.
func (c *Chunks) between(from, to time.Time) (rows int64, last time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, chunk := range c.chunks {
		if chunk.At.After(from) && !chunk.At.After(to) {
			rows, last = rows+chunk.Rows, chunk.At
		}
	}
	return rows, last
}

// The times of a trial: each drive gets some cycles of work, each between two rests.
const (
	trialSettles = 200 * time.Millisecond // earlier work may still run, and is not measured
	trialRests   = 600 * time.Millisecond
	trialWorks   = 900 * time.Millisecond
	trialCycles  = 3
	// tooSlow is the slowdown, as a difference of logarithms, above which only full speed is still
	// measured, once.
	tooSlow = 0.7
)

// drives are those of a trial with so many workers: part of one worker, one, half of them, and all with
// long chunks.
func drives(workers int) []float64 {
	list := []float64{0.3, 1, float64(workers) / 2, float64(workers) + 1}
	slices.Sort(list)
	return slices.Compact(list)
}

// Trial measures how fast work is at several drives, and what it costs the application.
type Trial struct {
	Governor *Governor // its Run is not at work
	Meter    *Meter
	Chunks   *Chunks
	Workers  int

	idle float64 // how idle the application is, as AtWork found it
}

// AtWork reports whether an application is at work on the server. It watches for a time.
func (t *Trial) AtWork(ctx context.Context, lasts time.Duration) (bool, error) {
	if _, err := t.Meter.take(ctx); err != nil {
		return false, err
	}
	if err := dbconn.Sleep(ctx, lasts); err != nil {
		return false, err
	}
	s, err := t.Meter.take(ctx)
	t.idle = hardly(applicationOf(s.activity).running(), priorLow)
	return s.ended() >= leastTried && !t.Meter.watch.uncounted(), err
}

// applicationOf is what an activity shows of the application.
func applicationOf(a activity) (f fading) {
	f.add(0, a)
	return f
}

// leastTried is the number of statements in a sample below which their mean shows nothing.
const leastTried = 20

// Run drives the work until all is measured, or the context ends because the work is done. It
// returns what it measured. Each cycle goes through all drives, so that a table with few rows has a
// measurement of each.
func (t *Trial) Run(ctx context.Context) (plan.Curve, error) {
	rested, err := t.measure(ctx, 0, trialRests)
	if err != nil {
		return plan.Curve{}, unlessEnded(ctx, err)
	}
	var alone sample
	alone.add(rested)
	found, full := map[float64]*tried{}, float64(t.Workers)+1
	for cycle := range trialCycles {
		for _, drive := range byWeight(drives(t.Workers)) {
			if one := found[1]; one != nil && one.point(1).Slower > tooSlow && drive > 1 && (drive < full || cycle > 0) {
				continue
			}
			worked, after, err := t.cycle(ctx, drive)
			if err != nil {
				return curveOf(found, alone, full), unlessEnded(ctx, err)
			}
			alone.add(after)
			rested.add(after) // of before and after the work, because the load may change
			if found[drive] == nil {
				found[drive] = &tried{}
			}
			found[drive].add(worked, rested)
			rested = after
		}
	}
	return curveOf(found, alone, full), nil
}

// byWeight returns drives in the order of what they show: one worker, all of them, and then the others.
func byWeight(sorted []float64) []float64 {
	full := sorted[len(sorted)-1]
	others := slices.DeleteFunc(slices.Clone(sorted), func(drive float64) bool { return drive == 1 || drive == full })
	return append([]float64{1, full}, others...)
}

// curveOf is the curve of what was found at each drive, and of the application alone.
func curveOf(found map[float64]*tried, alone sample, full float64) plan.Curve {
	application := applicationOf(alone.activity)
	c := plan.Curve{
		Statements: ratio(application.statements, application.over), Mean: application.mean(), P99: alone.p99(),
		Running: application.running(), Used: application.used(), Complete: found[full] != nil,
	}
	for _, drive := range slices.Sorted(maps.Keys(found)) {
		c.Points = append(c.Points, found[drive].point(drive))
	}
	return c
}

// unlessEnded returns no error if the context has ended: the work was done early.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// cycle measures work at a drive, and a rest after it.
func (t *Trial) cycle(ctx context.Context, drive float64) (worked, rested sample, err error) {
	if worked, err = t.measure(ctx, drive, trialWorks); err == nil {
		rested, err = t.measure(ctx, 0, trialRests)
	}
	return worked, rested, err
}

// measure lets so many workers work for a time, and returns what the application did. The first
// moment does not count.
func (t *Trial) measure(ctx context.Context, drive float64, takes time.Duration) (s sample, err error) {
	t.Governor.Drive(drive, t.idle)
	if err := dbconn.Sleep(ctx, trialSettles); err != nil {
		return s, err
	}
	if _, err := t.Meter.take(ctx); err != nil {
		return s, err
	}
	began := time.Now()
	if err := dbconn.Sleep(ctx, takes); err != nil {
		return s, err
	}
	ended := time.Now()
	if s, err = t.Meter.take(ctx); err != nil {
		return s, err
	}
	s.rows, _ = t.Chunks.between(began, ended)
	s.over = ended.Sub(began)
	return s, nil
}

// tried is what the cycles of one drive came to.
type tried struct {
	sample
	slower, weight float64
}

func (t *tried) add(worked, rested sample) {
	t.sample.add(worked)
	if worked.ended() >= leastTried && rested.ended() >= leastTried {
		t.slower += math.Log(worked.against(rested.means()))
		t.weight++
	}
}

func (t tried) point(drive float64) plan.Point {
	return plan.Point{Drive: drive, Rows: float64(t.rows) / t.over.Seconds(), Slower: t.slower / max(1, t.weight), P99: t.p99()}
}
