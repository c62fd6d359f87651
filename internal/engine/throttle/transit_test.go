package throttle

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// queued is a transaction in the binlog: of rows, or a heartbeat.
type queued struct {
	rows float64
	beat uint64
	at   time.Time
}

// slowReplica applies a number of rows in a second.
type slowReplica struct {
	capacity float64

	mu      sync.Mutex
	queue   []queued
	applied float64
	seen    uint64 // the youngest heartbeat
	worst   time.Duration
}

func (r *slowReplica) take(q queued) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(r.queue, q)
}

func (r *slowReplica) youngest() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// work applies until the context ends.
func (r *slowReplica) work(ctx context.Context) {
	const step = 10 * time.Millisecond
	for budget := 0.0; ctx.Err() == nil; time.Sleep(step) {
		r.mu.Lock()
		for budget += r.capacity * step.Seconds(); len(r.queue) > 0 && budget >= r.queue[0].rows; r.queue = r.queue[1:] {
			first := r.queue[0]
			budget -= first.rows
			r.applied += first.rows
			if first.beat > 0 {
				r.seen, r.worst = first.beat, max(r.worst, time.Since(first.at))
			}
		}
		if len(r.queue) == 0 {
			budget = 0
		}
		r.mu.Unlock()
	}
}

// Whatever number of rows a replica can apply in a second, it is never far behind, and always has
// work.
func TestTransitBoundsLag(t *testing.T) {
	const bound = time.Second
	for _, capacity := range []float64{2_000, 20_000, 200_000} { // rows a second
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			tr, replica := NewTransit(bound/4), &slowReplica{capacity: capacity}
			tr.Expect("replica")
			var group sync.WaitGroup
			for range 3 { // each copies 60,000 rows a second
				group.Go(func() {
					for ctx.Err() == nil {
						rows, err := tr.Begin(ctx, 15_000, 1)
						if err != nil {
							return
						}
						time.Sleep(time.Duration(float64(rows) / 60_000 * float64(time.Second)))
						replica.take(queued{rows: float64(rows)})
						tr.Ended(rows, rows)
					}
				})
			}
			group.Go(func() {
				for n := uint64(1); ctx.Err() == nil; n++ {
					replica.take(queued{beat: n, at: time.Now()})
					tr.Wrote(n)
					time.Sleep(50 * time.Millisecond)
				}
			})
			group.Go(func() { replica.work(ctx) })
			group.Go(func() {
				for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
					tr.Arrived("replica", replica.youngest())
				}
			})
			group.Wait()
			t.Logf("%.0f rows/s: %.0f rows arrived in a minute, a heartbeat took at most %s", capacity, replica.applied, replica.worst)
			if replica.worst > bound {
				t.Errorf("a replica that applies %.0f rows/s was %s behind", capacity, replica.worst)
			}
			if able := min(capacity, 180_000) * 60; replica.applied < 0.5*able {
				t.Errorf("a replica that applies %.0f rows/s got %.0f in a minute", capacity, replica.applied)
			}
		})
	}
}

// A worker that waits for room continues when rows arrive, and when the replica is no longer
// watched.
func TestTransitLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := NewTransit(time.Second)
		if rows, err := tr.Begin(t.Context(), 1e6, 1); rows != 1e6 || err != nil {
			t.Fatalf("without a replica there is room for %d rows, %v", rows, err)
		}
		tr.Ended(1e6, 0)
		tr.Expect("replica")
		tr.Wrote(1)
		first, err := tr.Begin(t.Context(), 1e6, 1)
		if err != nil || first != firstRoom {
			t.Fatalf("at first there is room for %d rows (%v), want %d", first, err, firstRoom)
		}
		tr.Ended(first, first)
		var got int
		done := make(chan struct{})
		go func() {
			defer close(done)
			got, _ = tr.Begin(t.Context(), 1e6, 1)
		}()
		synctest.Wait()
		tr.Arrived("replica", 2)
		synctest.Wait()
		if got != 0 {
			t.Fatal("a heartbeat that may be older than the rows let others continue")
		}
		tr.Arrived("replica", 3)
		if <-done; got != 2*firstRoom {
			t.Errorf("after all have arrived there is room for %d rows, want %d", got, 2*firstRoom)
		}
		tr.Ended(got, got)
		time.AfterFunc(time.Second, func() { tr.Forget("replica") })
		if rows, err := tr.Begin(t.Context(), 5e6, 1); rows != 5e6 || err != nil {
			t.Errorf("without the replica there is room for %d rows, %v", rows, err)
		}
		tr.Ended(5e6, 0)
		tr.Expect("replica")
		if got, err = tr.Begin(t.Context(), 1e6, 1); got != firstRoom || err != nil {
			t.Fatalf("a replica that is expected again has room for %d rows (%v), want %d", got, err, firstRoom)
		}
		tr.Ended(got, got)
		time.AfterFunc(time.Second, func() { tr.Aim(0) })
		if rows, err := tr.Begin(t.Context(), 5, 1); rows != 5 || err != nil {
			t.Errorf("got %d, %v", rows, err)
		}
	})
}
