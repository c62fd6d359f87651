package throttle

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// rows returns the rows of a second that so many workers copy on the machine: each waits for a third of
// its time for a commit, and the rest needs a core. Workers that are too many are in each other's way.
func (m *machine) rows(duty float64) float64 {
	running := 0.0
	if m.sessions > 0 {
		took, _ := m.at(duty)
		running = float64(m.sessions) * took / (took + m.think)
	}
	cores := max(1e-9, float64(m.cores)*min(1, duty/max(1e-9, duty+running))) // each gets its part of them
	useful := min(duty, 1.5*cores)
	return 30_000 * useful / (1 + 0.002*(duty-useful))
}

// copies lets the governor observe the machine, and chunks of rows be copied, for a time. It returns
// the rows of a second, the workers, and the part of its statements that the application keeps, all in
// the last third of the time.
func (m *machine) copies(g *Governor, length time.Duration) (rows, workers, kept float64) {
	n := int(length / lookEvery)
	_, free := m.at(0)
	for i := range n {
		time.Sleep(lookEvery) // by the bubble's clock
		g.mu.Lock()
		g.asked, g.worked = time.Now(), true
		allowed := g.allowed
		g.mu.Unlock()
		a := activity{over: lookEvery}
		took, rate := m.at(allowed)
		if m.sessions > 0 {
			ended := max(1, rate*lookEvery.Seconds()*(1+m.noise*m.random.NormFloat64()))
			a.busy, a.sessions = 1, m.sessions
			a.statements = map[string]tally{"select": {int64(ended), time.Duration(ended * took * (1 + m.noise*m.random.NormFloat64()) * 1e9)}}
		}
		g.observe(a, time.Now())
		copied := m.rows(allowed) * lookEvery.Seconds()
		if allowed > 0 {
			g.Copied(int(max(0, copied*(1+3*m.noise*m.random.NormFloat64()))), ShortChunk)
		}
		if i >= 2*n/3 {
			part := 1 / float64(n-2*n/3)
			rows, workers = rows+copied*part/lookEvery.Seconds(), workers+float64(g.Workers())*part
			kept += rate / max(1e-9, free) * part
		}
	}
	return rows, workers, kept
}

// TestWorkersScaleWithTheServer: on servers of 2, 16 and 64 cores, idle and used, a run finds a number of
// workers that copies at least 80 % of the rows of the best number, and the limits hold.
func TestWorkersScaleWithTheServer(t *testing.T) {
	for _, c := range []struct {
		cores, sessions int
		think           float64 // in times of the work
		least, atMost   float64 // workers
	}{
		{cores: 2, least: 3, atMost: 5},
		{cores: 16, least: 18, atMost: 40},
		{cores: 64, least: 55, atMost: 64},
		{cores: 2, sessions: 8, think: 20, least: 3, atMost: 6},
		{cores: 2, sessions: 8, least: 3, atMost: 4},
		{cores: 16, sessions: 8, think: 3, least: 8, atMost: 40},
		{cores: 64, sessions: 10, least: 30, atMost: 64},
		{cores: 64, sessions: 500, think: 100, least: 30, atMost: 64},
	} {
		for _, noise := range []float64{0.02, 0.06} {
			run := func(workers Workers) (rows, at, kept float64) {
				synctest.Test(t, func(*testing.T) {
					m := &machine{cores: c.cores, sessions: c.sessions, work: 0.0002, noise: noise, random: rand.New(rand.NewPCG(9, 9))}
					m.think = c.think * m.work
					g := NewGovernor(nil, workers, DefaultSlowdown(), false)
					g.Room(64)
					rows, at, kept = m.copies(g, 5*time.Minute)
				})
				return rows, at, kept
			}
			best := 0.0
			for _, n := range []int{1, 3, 12, 24, 64} {
				rows, _, kept := run(Workers{n, n})
				if c.sessions == 0 || kept > 0.96 {
					best = max(best, rows)
				}
			}
			rows, at, kept := run(Workers{3, 64})
			t.Logf("%d cores, %d sessions that think %g times as long as they work, noise %g: %.1f workers, %.0f rows/s of %.0f at best, kept %.3f",
				c.cores, c.sessions, c.think, noise, at, rows, best, kept)
			if rows < 0.8*best || at < c.least-0.1 || at > c.atMost || c.sessions > 0 && kept < 0.96 {
				t.Errorf("want 80 %% of the best rows/s, %g to %g workers, and 0.96 kept", c.least, c.atMost)
			}
		}
	}
}

// climb lets a hill measure a rate for a time, and returns the trials and the most workers.
func (h *hill) climb(length time.Duration, rate func(workers int) float64) (trials, most int) {
	now := h.last
	for range int(length / lookEvery) {
		now = now.Add(lookEvery)
		before := h.workers
		h.copied(int(rate(h.workers)*lookEvery.Seconds()), ShortChunk, false, now)
		if h.before > 0 && h.workers != before {
			trials++
		}
		most = max(most, h.workers)
	}
	return trials, most
}

// TestHillStaysWhereMoreDoNotHelp: it tries more from time to time, ever more seldom, also if the rate
// varies by itself.
func TestHillStaysWhereMoreDoNotHelp(t *testing.T) {
	for _, noise := range []float64{0, 0.1, 0.3} {
		random := rand.New(rand.NewPCG(3, 4))
		h := hill{bounds: Workers{3, 64}, room: 64, workers: 3}
		trials, most := h.climb(20*time.Minute, func(int) float64 { return 1e5 * max(0, 1+noise*random.NormFloat64()) })
		t.Logf("noise %g: %d trials, at most %d workers, and %d at last", noise, trials, most, h.workers)
		if trials < 3 || trials > 20 || most > 5 {
			t.Errorf("noise %g: %d trials of up to %d workers, want 3 to 20 of at most 5", noise, trials, most)
		}
	}
}

// TestHillFollowsTheServer: a run takes more workers when the server has more room, and fewer when the
// room is gone.
func TestHillFollowsTheServer(t *testing.T) {
	h := hill{bounds: Workers{3, 64}, room: 64, workers: 3}
	cores := 32.0
	h.climb(2*time.Minute, func(workers int) float64 { return 1e4 * math.Min(float64(workers), cores) })
	if h.workers < 26 {
		t.Errorf("%d workers on 32 cores", h.workers)
	}
	cores = 4
	h.climb(20*time.Minute, func(workers int) float64 { return 1e4 * math.Min(float64(workers), cores) })
	if h.workers > 7 {
		t.Errorf("%d workers, though the server has room for 4", h.workers)
	}
}

// TestWorkersStayWithinTheirBounds: no more than there are connections for, and none is tried before
// that is known. A number that the operator names holds at once.
func TestWorkersStayWithinTheirBounds(t *testing.T) {
	linear := func(workers int) float64 { return 1e4 * float64(workers) }
	h := hill{bounds: Workers{3, 64}, workers: 3}
	if _, most := h.climb(time.Minute, linear); most != 3 {
		t.Errorf("%d workers before it is known how many connections are free", most)
	}
	h.bound(h.bounds, 10)
	if _, most := h.climb(time.Minute, linear); most != 10 || h.workers != 10 {
		t.Errorf("%d workers, at most %d, with connections for 10", h.workers, most)
	}
	h.bound(h.bounds, 1)
	if h.workers != 3 {
		t.Errorf("%d workers after the connections are gone, want 3", h.workers)
	}
	h.bound(Workers{12, 12}, 1)
	if trials, _ := h.climb(time.Minute, linear); h.workers != 12 || trials > 0 {
		t.Errorf("%d workers, and %d trials, want the 12 that were named", h.workers, trials)
	}
	h.bound(Workers{3, 64}, 64)
	if h.workers != 12 {
		t.Errorf("%d workers when the number is not named any more, want to begin with 12", h.workers)
	}
}

// TestHillForgetsWhatIsInterrupted: rates with rests are not compared with rates without, and a pause
// does not end a trial.
func TestHillForgetsWhatIsInterrupted(t *testing.T) {
	now := time.Now()
	h := hill{bounds: Workers{3, 64}, room: 64, workers: 3}
	for h.before == 0 {
		now = now.Add(lookEvery)
		h.copied(1000, ShortChunk, false, now)
	}
	now = now.Add(time.Minute)
	h.copied(1000, ShortChunk, false, now)
	if h.before != 3 || h.workers != 4 {
		t.Errorf("%d workers and %d before, after a pause in the trial of the fourth", h.workers, h.before)
	}
	h.copied(1000, ShortChunk, true, now)
	if h.before != 0 || h.workers != 3 {
		t.Errorf("%d workers and %d before, after an application has come", h.workers, h.before)
	}
}
