package throttle

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A replica that applies no more rows a second than it can is never far behind, and is kept at work.
func TestTransitBoundsLag(t *testing.T) {
	const bound = time.Second
	for _, capacity := range []float64{2_000, 20_000, 200_000} { // rows a second
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			tr := NewTransit(bound / 4)
			var mu sync.Mutex
			type item struct {
				rows float64
				beat uint64
				at   time.Time
			}
			var queue []item // the replica's
			var applied, worst float64
			var seen uint64
			var group sync.WaitGroup
			for range 3 { // copies 60,000 rows a second each
				group.Go(func() {
					for ctx.Err() == nil {
						rows, err := tr.Begin(ctx, 15_000, 1)
						if err != nil {
							return
						}
						time.Sleep(time.Duration(float64(rows) / 60_000 * float64(time.Second)))
						mu.Lock()
						queue = append(queue, item{rows: float64(rows)})
						mu.Unlock()
						tr.Ended(rows, rows)
					}
				})
			}
			group.Go(func() { // heartbeats
				for n := uint64(1); ctx.Err() == nil; n++ {
					mu.Lock()
					queue = append(queue, item{beat: n, at: time.Now()})
					mu.Unlock()
					tr.Wrote(n)
					time.Sleep(50 * time.Millisecond)
				}
			})
			group.Go(func() { // the replica
				const step = 10 * time.Millisecond
				for budget := 0.0; ctx.Err() == nil; time.Sleep(step) {
					mu.Lock()
					for budget += capacity * step.Seconds(); len(queue) > 0 && budget >= queue[0].rows; queue = queue[1:] {
						budget -= queue[0].rows
						applied += queue[0].rows
						if queue[0].beat > 0 {
							seen = queue[0].beat
							worst = max(worst, time.Since(queue[0].at).Seconds())
						}
					}
					if len(queue) == 0 {
						budget = 0
					}
					mu.Unlock()
				}
			})
			group.Go(func() { // who looks at it
				for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
					mu.Lock()
					n := seen
					mu.Unlock()
					tr.Arrived("replica", n)
				}
			})
			group.Wait()
			t.Logf("%.0f rows/s: %.0f rows arrived in a minute, a heartbeat took at most %.2f s", capacity, applied, worst)
			if worst > bound.Seconds() {
				t.Errorf("a replica that applies %.0f rows/s was %.2f s behind", capacity, worst)
			}
			if able := min(capacity, 180_000) * 60; applied < 0.5*able {
				t.Errorf("a replica that applies %.0f rows/s got %.0f in a minute", capacity, applied)
			}
		})
	}
}

// Who waits for room goes on when rows arrive, and when the replica is not looked at any more.
func TestTransitLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := NewTransit(time.Second)
		if rows, err := tr.Begin(t.Context(), 1e6, 1); rows != 1e6 || err != nil {
			t.Fatalf("without a replica there is room for %d rows, %v", rows, err)
		}
		tr.Ended(1e6, 0)
		tr.Arrived("replica", 1)
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
			t.Fatal("the heartbeat that may have been written before the rows has let others go on")
		}
		tr.Arrived("replica", 3)
		if <-done; got != 2*firstRoom {
			t.Errorf("after all have arrived there is room for %d rows, want %d", got, 2*firstRoom)
		}
		tr.Ended(got, got)
		time.AfterFunc(time.Second, func() { tr.Forget("replica") })
		if rows, err := tr.Begin(t.Context(), 5, 1); rows != 5 || err != nil {
			t.Errorf("got %d, %v", rows, err)
		}
	})
}
