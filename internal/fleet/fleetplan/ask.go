package fleetplan

import (
	"context"
	"slices"
	"sync"
	"time"

	"midstream/internal/fleet/inventory"
	"midstream/internal/ops/record"
)

// Limits bound what is asked at the same time.
type Limits struct {
	// Parallel is how many servers are asked at the same time, and PerHost how many of them have the same label host.
	Parallel, PerHost int
}

// hostLabel is the label of the machine that several servers share.
const hostLabel = "host"

// Ask lets the plan of each server be made, within the limits, and returns the answers in the order of the servers. told is called
// after each one, with how many there are; it may be nil.
func Ask(
	ctx context.Context, servers []inventory.Server, limits Limits,
	plan func(context.Context, inventory.Server) Answer, told func(done int),
) []Answer {
	t := turns{waiting: servers, index: make([]int, len(servers)), busy: map[string]int{}, perHost: max(1, limits.PerHost)}
	t.changed.L = &t.mu
	for i := range servers {
		t.index[i] = i
	}
	answers := make([]Answer, len(servers))
	var workers sync.WaitGroup
	done := 0
	for range min(max(1, limits.Parallel), len(servers)) {
		workers.Go(func() {
			for {
				i, any := t.next()
				if !any {
					return
				}
				began := time.Now()
				answer := plan(ctx, servers[i])
				answer.Server, answer.Labels, answer.TookMS = servers[i].Name, servers[i].Labels, record.MSOf(time.Since(began))
				answers[i] = answer
				t.end(servers[i], func() {
					if done++; told != nil {
						told(done)
					}
				})
			}
		})
	}
	workers.Wait()
	return answers
}

// turns gives each server its turn.
type turns struct {
	mu      sync.Mutex
	changed sync.Cond
	waiting []inventory.Server
	index   []int          // of those that wait
	busy    map[string]int // servers that are asked, by host
	perHost int
}

// next is the first server whose host has room; it waits for one, and there is none if all have had their turn.
func (t *turns) next() (i int, any bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.index) > 0 {
		at := slices.IndexFunc(t.index, func(i int) bool {
			host := t.waiting[i].Labels[hostLabel]
			return host == "" || t.busy[host] < t.perHost
		})
		if at < 0 {
			t.changed.Wait()
			continue
		}
		i = t.index[at]
		t.index = slices.Delete(t.index, at, at+1)
		t.busy[t.waiting[i].Labels[hostLabel]]++
		return i, true
	}
	return 0, false
}

// end gives the next server its turn. done runs alone.
func (t *turns) end(s inventory.Server, done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy[s.Labels[hostLabel]]--
	done()
	t.changed.Broadcast()
}
