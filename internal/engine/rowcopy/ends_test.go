package rowcopy

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"midstream/internal/engine/frontier"
	"midstream/internal/engine/key"
)

// digits compares keys that are numbers of the same length.
type digits struct{}

func (digits) Compare(a, b key.Key) (int, bool) { return strings.Compare(string(a), string(b)), true }

// farServer has rows with the keys 1, 2, 3 and so on, and answers late.
type farServer struct {
	rows, asked int
	late        time.Duration
}

func (s *farServer) find(rest key.Range, rows, chunks int) (found []key.Key, err error) {
	s.asked++
	time.Sleep(s.late)
	from, _ := strconv.Atoi(string(rest.From))
	for n := 1; n <= chunks; n++ {
		if from+n*rows > s.rows {
			return append(found, ""), nil
		}
		found = append(found, key.Key(fmt.Sprintf("%09d", from+n*rows)))
	}
	return found, nil
}

// TestL2_WorkersThatWaitGetChunksByOneQuery: next to a server that answers late, the workers wait for
// hardly more than one query each, and the chunks cover the keys without a gap and without an overlap.
func TestL2_WorkersThatWaitGetChunksByOneQuery(t *testing.T) {
	for _, workers := range []int{1, 3, 64} {
		synctest.Test(t, func(t *testing.T) {
			const chunks, late, copying = 640, 20 * time.Millisecond, 80 * time.Millisecond
			server := &farServer{rows: 100 * chunks, late: late}
			e, tracker, began := newEnds(), frontier.New(digits{}), time.Now()
			var all sync.WaitGroup
			var mu sync.Mutex
			handed := map[uint64]key.Range{}
			for range workers {
				all.Go(func() {
					for {
						c, more, _, err := e.handOut(t.Context(), tracker, 100, server.find)
						if err != nil || !more {
							return
						}
						mu.Lock()
						handed[c.Number] = c.Range
						mu.Unlock()
						time.Sleep(copying)
						tracker.End(c)
					}
				})
			}
			all.Wait()
			at := key.Key("")
			for n := range len(handed) {
				if r := handed[uint64(n+1)]; r.From != at {
					t.Errorf("chunk %d begins at %q, and the one before ends at %q", n+1, r.From, at)
				}
				at = handed[uint64(n+1)].To
			}
			if at != "" || !tracker.Complete() || len(handed) < chunks {
				t.Errorf("%d chunks up to %q", len(handed), at)
			}
			took, ideal := time.Since(began), chunks/time.Duration(workers)*(late+copying)
			t.Logf("%d workers: %s, and %s without waiting for each other; %d queries", workers, took, ideal, server.asked)
			if took > 3*ideal/2 {
				t.Errorf("%d workers took %s, want about %s", workers, took, ideal)
			}
		})
	}
}

// TestNoEndIsLeftForLater: each end that is found is for a worker that waits, so that during a pause none
// grows old. A worker that may write fewer rows than the one that asked asks again.
func TestNoEndIsLeftForLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &farServer{rows: 1_000_000, late: time.Second}
		e, tracker := newEnds(), frontier.New(digits{})
		sizes := make([]int, 4)
		var all sync.WaitGroup
		for i, rows := range []int{100, 100, 100, 10} {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				c, _, _, err := e.handOut(t.Context(), tracker, rows, server.find)
				if err != nil {
					t.Error(err)
				}
				from, _ := strconv.Atoi(string(c.Range.From))
				to, _ := strconv.Atoi(string(c.Range.To))
				sizes[i] = to - from
			})
		}
		all.Wait()
		if len(e.found) > 0 || server.asked != 3 || fmt.Sprint(sizes) != "[100 100 100 10]" {
			t.Errorf("%d ends are left after %d queries, and the chunks have %v rows", len(e.found), server.asked, sizes)
		}
		ctx, cancel := context.WithCancel(t.Context())
		e.turn <- struct{}{}
		time.AfterFunc(time.Second, cancel)
		if _, _, _, err := e.handOut(ctx, tracker, 100, server.find); err == nil || e.waiting.Load() != 0 {
			t.Errorf("a run that ended has handed out a chunk (%v), or %d workers wait", err, e.waiting.Load())
		}
	})
}

// TestQueriesForEndsAreShort: long chunks are found one by one, because a query passes over all of their rows.
func TestQueriesForEndsAreShort(t *testing.T) {
	for _, c := range []struct{ workers, rows, want int }{
		{1, 100, 1}, {3, 100, 3}, {64, 100, 16}, {64, 1000, 9}, {64, 10_000, 2}, {64, 100_000, 1},
	} {
		if got := chunksFor(c.workers, c.rows); got != c.want {
			t.Errorf("%d workers, chunks of %d rows: %d at once, want %d", c.workers, c.rows, got, c.want)
		}
	}
}
