package throttle

import (
	"math"
	"slices"
	"testing"
	"time"

	"midstream/internal/engine/event"
)

// TestDrives: a trial goes from a part of one worker to all of them with long chunks.
func TestDrives(t *testing.T) {
	for workers, want := range map[int][]float64{
		1: {0.3, 0.5, 1, 2}, 2: {0.3, 1, 3}, 4: {0.3, 1, 2, 5}, 16: {0.3, 1, 8, 17},
	} {
		if got := drives(workers); !slices.Equal(got, want) {
			t.Errorf("%d workers: %v, want %v", workers, got, want)
		}
	}
}

// TestByWeight: one worker and all of them come first, because a table may have too few rows for more.
func TestByWeight(t *testing.T) {
	for workers, want := range map[int][]float64{1: {1, 2, 0.3, 0.5}, 2: {1, 3, 0.3}, 4: {1, 5, 0.3, 2}} {
		if got := byWeight(drives(workers)); !slices.Equal(got, want) {
			t.Errorf("%d workers: %v, want %v", workers, got, want)
		}
	}
}

// TestTailOfASample: the slowest hundredth is known from enough statements on, over several times.
func TestTailOfASample(t *testing.T) {
	const ms = int64(1e9) // picoseconds
	var s sample
	s.add(sample{tail: map[int64]int64{2 * ms: 200, 5 * ms: 40}})
	if p := s.p99(); p != 0 {
		t.Errorf("of 240 statements it is %s", p)
	}
	s.add(sample{tail: map[int64]int64{2 * ms: 700, 30 * ms: 8, 90 * ms: 1}})
	if p := s.p99(); p != 5*time.Millisecond {
		t.Errorf("it is %s", p)
	}
	s.add(sample{tail: map[int64]int64{30 * ms: 20}})
	if p := s.p99(); p != 30*time.Millisecond {
		t.Errorf("it is %s", p)
	}
}

// TestPointOfATrial: a drive costs what its statements took compared with those of the rests, and
// has the rate of its own time.
func TestPointOfATrial(t *testing.T) {
	did := func(n int64, took, over time.Duration, rows int64) sample {
		return sample{rows: rows, activity: activity{over: over, statements: map[string]tally{"sql/select": {n, time.Duration(n) * took}}}}
	}
	rested := did(1000, time.Millisecond, time.Second, 0)
	var at tried
	at.add(did(1000, 2*time.Millisecond, time.Second, 500), rested)
	at.add(did(3, time.Second, time.Second, 700), rested) // too few to count
	if p := at.point(2); math.Abs(p.Slower-math.Log(2)) > 1e-9 || p.Rows != 600 || p.Drive != 2 || p.P99 != 0 {
		t.Errorf("%+v", p)
	}
}

// TestChunks: a rate leaves out the warm-up and the time after the last chunk.
func TestChunks(t *testing.T) {
	var c Chunks
	began := time.Now()
	for i := range 40 {
		c.Listen(event.ChunkCopied{Rows: 10, At: began.Add(time.Duration(i+1) * 100 * time.Millisecond)})
	}
	c.Listen(event.Note{})
	if rate, rows := c.Rate(began, began.Add(5*time.Second)); math.Abs(rate-100) > 1e-6 || rows != 400 {
		t.Errorf("%g rows a second, %d rows", rate, rows)
	}
	if rate, rows := (&Chunks{}).Rate(began, began.Add(time.Second)); rate != 0 || rows != 0 {
		t.Errorf("no chunks have %g, %d", rate, rows)
	}
}
