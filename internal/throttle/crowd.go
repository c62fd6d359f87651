package throttle

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"midstream/internal/dbconn"
)

// perWorker is the number of busy sessions of others that a worker gives way to: of three
// workers on two cores one goes on beside 16 saturating connections, and two or three beside
// the same connections at 40 % of the peak.
const perWorker = 6

// Looks at the server: how often, and how many of them are averaged.
const (
	lookEvery = 200 * time.Millisecond
	looks     = 5
)

// Crowd says how many workers may work. It is safe for concurrent use.
type Crowd struct {
	db   *sql.DB
	most int

	mu      sync.Mutex
	recent  []int // others that were busy, the youngest look last
	allowed int
	changed chan struct{} // closed and replaced when more may work
}

// NewCrowd returns a rule that allows all workers until Run has looked.
func NewCrowd(db *sql.DB, workers int) *Crowd {
	return &Crowd{db: db, most: workers, allowed: workers, changed: make(chan struct{})}
}

// busyQuery counts the sessions of other programs that have a statement running.
const busyQuery = `
SELECT COUNT(*) FROM performance_schema.threads t
WHERE t.processlist_command IN ('Query', 'Execute')
  AND t.processlist_id NOT IN (` + dbconn.OwnSessions + `)`

// Run looks at the server until the context ends, when it returns nil. On an error all
// workers may work.
func (c *Crowd) Run(ctx context.Context) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		var busy int
		if err := c.db.QueryRowContext(ctx, busyQuery).Scan(&busy); err != nil {
			c.saw(0)
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("look how busy the server is: %w", err)
		}
		c.saw(busy)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// saw takes the result of a look into account.
func (c *Crowd) saw(busy int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent = append(c.recent, busy)
	if len(c.recent) > looks {
		c.recent = c.recent[1:]
	}
	sum := 0
	for _, n := range c.recent {
		sum += n
	}
	before := c.allowed
	c.allowed = max(1, c.most-sum/len(c.recent)/perWorker)
	if c.allowed > before {
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// Allowed is the number of workers that may work now.
func (c *Crowd) Allowed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.allowed
}

// Gate blocks while the worker with that number, the first being 0, may not work.
func (c *Crowd) Gate(ctx context.Context, worker int) error {
	for {
		c.mu.Lock()
		may, changed := worker < c.allowed, c.changed
		c.mu.Unlock()
		if may {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}
