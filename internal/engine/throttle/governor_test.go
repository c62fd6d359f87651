package throttle

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// model is a server with an application whose statements get slower through our work: a queue with
// one server (M/M/1). A worker takes a share of that server.
type model struct {
	load   float64 // of the application alone, below 1
	worker float64 // the share of a worker
	rate   float64 // statements a second
	noise  float64 // of a sample, as a logarithm
	random *rand.Rand
}

// activity is what the governor measures in a time, at a duty of ours.
func (m *model) activity(over time.Duration, duty float64) activity {
	if m.rate == 0 {
		return activity{over: over}
	}
	slow := 1 / max(0.02, 1-m.load-min(duty, 3)*m.worker)
	n := int64(m.rate * over.Seconds())
	noise := math.Exp(m.noise * m.random.NormFloat64())
	return activity{
		over:       over,
		busy:       1,
		sessions:   100,
		statements: map[string]tally{"select": {n, time.Duration(float64(n) * slow * noise * float64(200*time.Microsecond))}},
	}
}

// run lets the governor sample the model for a time. It returns the mean duty of the second half,
// and the factor by which statements were slower than without us.
func (m *model) run(g *Governor, now *time.Time, length time.Duration) (duty, slowed float64) {
	n := int(length / lookEvery)
	var alone, beside, duties float64
	for i := range n {
		*now = now.Add(lookEvery)
		g.asked, g.worked = *now, true
		open := min(g.allowed, 3)
		g.observe(m.activity(lookEvery, open), *now)
		if i >= n/2 {
			duties += open
			beside += 1 / max(0.02, 1-m.load-open*m.worker)
			alone += 1 / (1 - m.load)
		}
	}
	if m.rate == 0 {
		beside = alone
	}
	return duties / float64(n-n/2), beside / alone
}

// Whatever the load, the application is hardly slowed and some work is done; if the server has
// room, more is done.
func TestGovernorTakesWhatIsFree(t *testing.T) {
	for _, noise := range []float64{0.03, 0.3, 0.8} {
		for _, load := range []float64{0.05, 0.4, 0.8, 0.95} {
			m := &model{load: load, worker: 0.1, rate: 4000, noise: noise, random: rand.New(rand.NewPCG(1, 2))}
			g, now := NewGovernor(nil, Workers{3, 3}, Slowdown{Part: 0.05}, false), time.Now()
			duty, slowed := m.run(g, &now, 2*time.Minute)
			t.Logf("noise %.2f, load %.2f: duty %.2f, statements slower by %.3f", noise, load, duty, slowed)
			most := 1.1 + noise/3
			if load < 0.1 {
				most = 1.4 // the application hardly uses the server
			}
			if slowed > most {
				t.Errorf("noise %.2f, load %.2f: statements take %.2f times as long as alone", noise, load, slowed)
			}
			if told := g.Slowdown(); noise < 0.1 && (told < 0 || told > slowed-1+0.05 || told < slowed-1-0.05) {
				t.Errorf("noise %.2f, load %.2f: it reports %.3f", noise, load, told)
			}
			// The more noise, the less the governor can be sure: then it gives way.
			if free := (1 - load) * 0.05 / m.worker; duty < leastDuty/2 || noise < 0.1 && duty < 0.4*min(free, 3) {
				t.Errorf("noise %.2f, load %.2f: the duty is %.3f, and %.3f would be tolerated", noise, load, duty, free)
			}
		}
	}
}

// The governor gives way to a rising load within two seconds, and uses all of the server within
// three seconds after the load ends.
func TestGovernorFollowsTheLoad(t *testing.T) {
	m := &model{load: 0.3, worker: 0.1, rate: 4000, noise: 0.05, random: rand.New(rand.NewPCG(3, 4))}
	g, now := NewGovernor(nil, Workers{3, 3}, Slowdown{Part: 0.05}, false), time.Now()
	calm, _ := m.run(g, &now, 30*time.Second)
	m.load, m.rate = 0.9, 9000
	m.run(g, &now, 2*time.Second)
	if slowed := (1 - m.load) / (1 - m.load - g.duty*m.worker); slowed > 1.25 {
		t.Errorf(
			"2 s after the load rose statements take %.2f times as long as alone, by a duty of %.2f; before it was %.2f",
			slowed, g.duty, calm,
		)
	}
	busy := g.Busy()
	if s := g.StatementTimes(); s.PerSecond < 8000 || s.PerSecond > 10_000 || s.Now < time.Millisecond || s.Alone < time.Millisecond {
		t.Errorf("under load the application's statements are %+v; want 9000 statements/s of about 2 ms", s)
	}
	m.rate = 0
	m.run(g, &now, time.Second)
	if felt := g.StatementTimes(); felt != (StatementTimes{}) {
		t.Errorf("1 s after the load ended, the application's statements are %+v", felt)
	}
	if !busy || g.Busy() {
		t.Errorf("busy: %v under load, and %v after it; want it busy under load only", busy, g.Busy())
	}
	if g.duty != g.most {
		t.Errorf("1 s after the load went the duty is %.2f of %.2f", g.duty, g.most)
	}
	m.load, m.rate = 0.9, 9000
	m.run(g, &now, time.Second)
	if g.duty > 0.5 {
		t.Errorf("1 s after the load came back the duty is %.2f", g.duty)
	}
}

// An application that has become slow by itself delays the work only for a moment.
func TestGovernorLearnsAnew(t *testing.T) {
	m := &model{load: 0.1, worker: 0.02, rate: 4000, noise: 0.05, random: rand.New(rand.NewPCG(5, 6))}
	g, now := NewGovernor(nil, Workers{3, 3}, Slowdown{Part: 0.05}, false), time.Now()
	m.run(g, &now, time.Minute)
	m.load = 0.7 // through others
	duty, _ := m.run(g, &now, time.Minute)
	if free := (1 - m.load) * 0.05 / m.worker; duty < 0.4*free {
		t.Errorf("the duty is %.2f a minute after statements became slow by themselves, and %.2f would be tolerated", duty, free)
	}
}

// A stalled server is left alone, and one long report does not affect the others.
func TestGovernorStallsAndReports(t *testing.T) {
	g, now := NewGovernor(nil, Workers{3, 3}, Slowdown{Part: 0.05}, false), time.Now()
	m := &model{load: 0.1, worker: 0, rate: 4000, noise: 0.05, random: rand.New(rand.NewPCG(7, 8))}
	m.run(g, &now, 30*time.Second)
	duty := g.duty
	report := m.activity(lookEvery, duty)
	report.statements["update"] = tally{n: 1, took: time.Minute}
	g.observe(report, now)
	if g.duty < duty/2 {
		t.Errorf("after one long statement of another kind the duty is %.2f, before %.2f", g.duty, duty)
	}
	for g.state == resting {
		m.run(g, &now, lookEvery)
	}
	g.observe(activity{over: lookEvery, busy: 9}, now.Add(lookEvery))
	if g.allowed != 0 || g.duty > duty/2 {
		t.Errorf("the duty is %.2f, and open %.2f, while nine statements are stalled", g.duty, g.allowed)
	}
}

// TestGovernorWhileNobodyWorks: a pause does not lose what the governor has learned; it samples at
// idlePoll then. Workers may wait for a share during the pause.
func TestGovernorWhileNobodyWorks(t *testing.T) {
	m := &model{load: 0.8, worker: 0.1, rate: 4000, noise: 0.05, random: rand.New(rand.NewPCG(7, 8))}
	g, now := NewGovernor(nil, Workers{3, 3}, Slowdown{Part: 0.05}, false), time.Now()
	m.run(g, &now, time.Minute)
	before := g.duty
	if g.every(now) != lookEvery {
		t.Errorf("it looks every %s at work", g.every(now))
	}
	now = now.Add(time.Minute) // the process was stopped
	g.observe(m.activity(time.Minute, 0), now)
	for n := 0; n < 300; n++ {
		next := g.every(now)
		if want := lookEvery; n < 3 && next != want || n > 10 && next != idlePoll {
			t.Fatalf("look %d comes after %s", n, next)
		}
		now = now.Add(next)
		g.observe(m.activity(next, 0), now)
	}
	if !g.Busy() {
		t.Error("the application is not busy while no worker works")
	}
	if g.duty > 2*before || g.duty < before/2 { // the current cycle still counts
		t.Errorf("after a pause the duty is %.2f; before it, %.2f", g.duty, before)
	}
	m.run(g, &now, 2*(restFor+workFor))
	if g.allowed == 0 || g.duty > 2*before || g.duty < before/4 {
		t.Errorf("soon after a pause the duty is %.2f, %.2f of it open; before it, %.2f", g.duty, g.allowed, before)
	}
}

// TestGovernorFollowsTheLimit: another limit has its effect in the next cycle, and as much of it on a
// server that is so busy that only the least is done.
func TestGovernorFollowsTheLimit(t *testing.T) {
	for _, load := range []float64{0.5, 0.95} {
		m := &model{load: load, worker: 0.2, rate: 4000, noise: 0.02, random: rand.New(rand.NewPCG(9, 10))}
		usual := Slowdown{Part: 0.05}
		g, now := NewGovernor(nil, Workers{3, 3}, usual, false), time.Now()
		m.run(g, &now, time.Minute)
		for _, factor := range []float64{1, 0.25, 0.5, 1, 3, 6} {
			m.run(g, &now, 20*time.Second)
			settled := g.duty
			change := factor / (g.slower.Part / usual.Part)
			g.Bound(Workers{3, 3}, usual.Times(factor))
			m.run(g, &now, 2*(workFor+restFor))
			if got := g.duty / settled; got < change/1.25 || got > change*1.25 {
				t.Errorf("load %.2f: with %.2f of the limit the duty is %.2f of what it was", load, change, got)
			}
		}
	}
}

// The governor notices at once a worker that comes after a pause.
func TestGovernorIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGovernor(nil, Workers{3, 3}, Slowdown{Part: 0.05}, false)
		g.set(0)
		g.since, g.known = time.Now(), true
		time.Sleep(time.Minute)
		begun := time.Now()
		if g.every(begun) != idlePoll {
			t.Errorf("without workers it samples every %s", g.every(begun))
		}
		go g.Gate(t.Context(), 0, 0)
		select {
		case <-time.After(g.every(time.Now())):
			t.Error("a worker came, and the governor was not woken")
		case <-g.woken:
		}
		if waited := time.Since(begun); waited > lookEvery || g.every(time.Now()) != lookEvery {
			t.Errorf("it came to know after %s, and looks every %s", waited, g.every(time.Now()))
		}
		g.mu.Lock()
		g.set(g.most)
		g.mu.Unlock()
	})
}

// A worker without a share waits until there is room, or its context ends.
func TestGovernorGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGovernor(nil, Workers{2, 2}, Slowdown{Part: 0.05}, true)
		if err := g.Gate(t.Context(), 1, time.Hour); err != nil {
			t.Error(err)
		}
		g.set(0.5)
		ended := errors.New("ended")
		ctx, end := context.WithCancelCause(t.Context())
		passed := make(chan error, 2)
		go func() { passed <- g.Gate(t.Context(), 1, time.Second) }()
		go func() { passed <- g.Gate(ctx, 1, time.Second) }()
		time.Sleep(time.Hour) // by the bubble's clock
		if len(passed) > 0 {
			t.Fatal("the second worker works without a share")
		}
		end(ended)
		if err := <-passed; !errors.Is(err, ended) {
			t.Errorf("gate returned %v, want the cause of its context", err)
		}
		g.mu.Lock()
		g.set(g.most)
		g.mu.Unlock()
		if err := <-passed; err != nil {
			t.Error(err)
		}
	})
}

// A worker with a share rests in proportion to its work, and less once there is room.
func TestGovernorRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGovernor(nil, Workers{2, 2}, Slowdown{Part: 0.05}, true)
		g.set(0.6)
		begun := time.Now()
		if err := g.Gate(t.Context(), 0, 600*time.Millisecond); err != nil {
			t.Error(err)
		}
		if rested := time.Since(begun); (rested - 400*time.Millisecond).Abs() > time.Microsecond {
			t.Errorf("the worker rested %s after 600 ms of work, want 400 ms", rested)
		}
		begun = time.Now()
		time.AfterFunc(time.Second/2, func() {
			g.mu.Lock()
			g.set(g.most)
			g.mu.Unlock()
		})
		if err := g.Gate(t.Context(), 0, time.Hour); err != nil {
			t.Error(err)
		}
		if rested := time.Since(begun); rested != time.Second/2 {
			t.Errorf("the worker rested %s, want until there was room", rested)
		}
	})
}

// TestGovernorNeverNothing: on a server so overloaded that the shortest chunk takes seconds, a
// chunk still runs about every other second. Workers without a share keep waiting.
func TestGovernorNeverNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGovernor(nil, Workers{2, 2}, Slowdown{Part: 0.05}, true)
		g.set(leastDuty)
		rested := func(took time.Duration) time.Duration {
			begun := time.Now()
			if err := g.Gate(t.Context(), 0, took); err != nil {
				t.Error(err)
			}
			return time.Since(begun)
		}
		if d := rested(3 * time.Second); d != time.Second {
			t.Errorf("after a chunk of 3 s the worker rested %s, want 1 s", d)
		}
		if d := rested(ShortChunk); (d - 490*time.Millisecond).Abs() > time.Microsecond {
			t.Errorf("after a chunk of %s the worker rested %s, want 490 ms", ShortChunk, d)
		}
		ctx, end := context.WithTimeout(t.Context(), time.Hour)
		defer end()
		if err := g.Gate(ctx, 1, time.Millisecond); err == nil {
			t.Error("the second worker works without a share")
		}
	})
}

// Chunks are short next to an application, whatever the duty, and as long as allowed on an idle server.
// A statement of ours uses one thread next to an application.
func TestGovernorChunks(t *testing.T) {
	g := NewGovernor(nil, Workers{3, 3}, Slowdown{Part: 0.05}, true)
	if got := g.Chunk(2 * time.Second); got != 2*time.Second || g.Threads(4) != 4 {
		t.Errorf("with all free a chunk takes %s and a statement %d threads, want 2s and 4", got, g.Threads(4))
	}
	m := &machine{cores: 2, sessions: 8, think: 0.0004, work: 0.0002, noise: 0.03, random: rand.New(rand.NewPCG(1, 2))}
	for range 10 {
		m.run(g, time.Second)
		if got := g.Chunk(250 * time.Millisecond); got != ShortChunk || g.Threads(4) != 1 {
			t.Fatalf("at a duty of %g a chunk takes %s and a statement %d threads, want %s and 1", g.duty, got, g.Threads(4), ShortChunk)
		}
	}
	m = &machine{cores: 64, sessions: 8, think: 0.01, work: 0.0002, random: rand.New(rand.NewPCG(1, 2))}
	g = NewGovernor(nil, Workers{3, 3}, DefaultSlowdown(), false)
	m.run(g, 30*time.Second)
	if got := g.Chunk(250 * time.Millisecond); got != ShortChunk+longerAlone || g.Threads(4) != 4 {
		t.Errorf("next to an application that is nearly idle a chunk takes %s and a statement %d threads, want %s and 4",
			got, g.Threads(4), ShortChunk+longerAlone)
	}
	if got := g.Chunk(time.Millisecond); got != time.Millisecond {
		t.Errorf("a chunk takes %s, want no more than is allowed", got)
	}
}

// machine is a server of some cores whose sessions share them evenly. An application of some sessions
// works on each statement for a time, and thinks before the next one.
type machine struct {
	cores, sessions int
	think, work     float64 // seconds
	noise           float64
	random          *rand.Rand
}

// at returns the time of a statement, and the statements of a second, next to so many workers of ours.
func (m *machine) at(duty float64) (took, rate float64) {
	took = m.work
	for range 100 { // the time depends on how many run, and how many run on the time
		running := float64(m.sessions) * took / (took + m.think)
		took = 0.9*took + 0.1*m.work*max(1, (running+duty)/float64(m.cores))
	}
	return took, float64(m.sessions) / (took + m.think)
}

// run lets the governor observe for a time. It returns the mean duty of the second half, and the part
// of its statements that the application keeps in it.
func (m *machine) run(g *Governor, length time.Duration) (duty, kept float64) {
	now, n := time.Now(), int(length/lookEvery)
	_, free := m.at(0)
	for i := range n {
		now = now.Add(lookEvery)
		g.asked, g.worked = now, true
		took, rate := m.at(g.allowed)
		ended := max(1, rate*lookEvery.Seconds()*(1+m.noise*m.random.NormFloat64()))
		g.observe(activity{
			over: lookEvery, busy: 1, sessions: m.sessions,
			statements: map[string]tally{"select": {int64(ended), time.Duration(ended * took * (1 + m.noise*m.random.NormFloat64()) * 1e9)}},
		}, now)
		if i >= n/2 {
			duty += g.allowed / float64(n-n/2)
			kept += rate / free / float64(n-n/2)
		}
	}
	return duty, kept
}

// TestGovernorKeepsTheThroughput: on servers of 2, 16 and 64 cores, applications that wait for the
// server all the time, for half of it and hardly keep 97 % of their statements. Work goes on, and all of
// it where there is room: ten running statements leave 54 of 64 cores idle.
func TestGovernorKeepsTheThroughput(t *testing.T) {
	for _, c := range []struct {
		cores, sessions int
		think           float64 // in times of the work
		most            float64
		least, atMost   float64 // of the duty
	}{
		{cores: 2, sessions: 8, think: 0, most: 3, least: 0.1, atMost: 0.4},
		{cores: 2, sessions: 16, think: 0, most: 3, least: 0.15, atMost: 0.8},
		{cores: 2, sessions: 2, think: 0.5, most: 3, least: 0.05, atMost: 1.2},
		{cores: 2, sessions: 8, think: 20, most: 3, least: 1, atMost: 3},
		{cores: 16, sessions: 64, think: 0, most: 3, least: 0.8, atMost: 3},
		{cores: 16, sessions: 8, think: 0, most: 3, least: 2.4, atMost: 3},
		{cores: 64, sessions: 10, think: 0, most: 32, least: 15, atMost: 32},
		{cores: 64, sessions: 500, think: 100, most: 32, least: 20, atMost: 32},
	} {
		for _, noise := range []float64{0.02, 0.1} {
			m := &machine{cores: c.cores, sessions: c.sessions, work: 0.0002, noise: noise, random: rand.New(rand.NewPCG(9, 9))}
			m.think = c.think * m.work
			duty, kept := m.run(NewGovernor(nil, Workers{int(c.most), int(c.most)}, DefaultSlowdown(), false), 3*time.Minute)
			t.Logf("%d cores, %d sessions that think %g times as long as they work, noise %g: duty %.2f, kept %.3f",
				c.cores, c.sessions, c.think, noise, duty, kept)
			if kept < 0.96 || duty < c.least || duty > c.atMost {
				t.Errorf("want at least 0.96 kept, and a duty of %g to %g, rests included", c.least, c.atMost)
			}
		}
	}
}

// A worker that is now one too many waits, even if the application is ignored.
func TestGovernorOfFewer(t *testing.T) {
	for _, workers := range []int{4, 64} {
		g := NewGovernor(nil, Workers{workers, workers}, Slowdown{Part: 0.05}, true)
		g.Bound(Workers{1, 1}, Slowdown{Part: 0.05})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if g.Gate(ctx, 0, time.Second) != nil || g.Gate(ctx, 1, time.Second) == nil {
			t.Errorf("one of %d workers is allowed, and the first waits, or the second works", workers)
		}
		cancel()
	}
}
