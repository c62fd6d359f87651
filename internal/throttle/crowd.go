package throttle

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"midstream/internal/dbconn"
)

// How busy sessions of others slow the row copy: up to calm of them all workers go on, from
// crowded on only the least share of one does, and between the two it falls evenly. On two
// cores 16 saturating connections are seen as 11 busy ones on average, and at 40 % of their
// peak, with the row copy beside them, as 5.
const (
	calm    = 7.0
	crowded = 10.0
	least   = 0.6 // of the time of one worker
)

// Looks at the server: how often, and how many of them are averaged.
const (
	lookEvery = 200 * time.Millisecond
	looks     = 5
)

// Crowd says how much of the workers' time may be work. It is safe for concurrent use.
type Crowd struct {
	db   *sql.DB
	most int

	mu      sync.Mutex
	recent  []int         // others that were busy, the youngest look last
	allowed float64       // workers
	changed chan struct{} // closed and replaced when more may work
}

// NewCrowd returns a rule that allows all workers until Run has looked.
func NewCrowd(db *sql.DB, workers int) *Crowd {
	return &Crowd{db: db, most: workers, allowed: float64(workers), changed: make(chan struct{})}
}

// Bound changes the number of workers, and takes the server for calm until Run has looked again.
func (c *Crowd) Bound(workers int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most, c.allowed, c.recent = workers, float64(workers), nil
	close(c.changed)
	c.changed = make(chan struct{})
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
	c.allowed = allow(c.most, float64(sum)/float64(len(c.recent)))
	if c.allowed > before {
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// allow returns how many of the workers may work beside so many busy sessions.
func allow(most int, busy float64) float64 {
	crowd := min(1, max(0, (busy-calm)/(crowded-calm)))
	return float64(most) - crowd*(float64(most)-least)
}

// Allowed is the number of workers that may work now; with 1.5 the second one works half of
// its time.
func (c *Crowd) Allowed() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.allowed
}

// Gate blocks while the worker with that number, the first being 0, must hold still: after
// work that took so long, until the work is no more than its share of the time.
func (c *Crowd) Gate(ctx context.Context, worker int, took time.Duration) error {
	done := time.Now()
	for {
		c.mu.Lock()
		share, changed := min(1, c.allowed-float64(worker)), c.changed
		c.mu.Unlock()
		var rested <-chan time.Time // never, if its share is nothing
		if share > 0 {
			rest := time.Duration(float64(took)*(1/share-1)) - time.Since(done)
			if rest <= 0 {
				return nil
			}
			rested = time.After(rest)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-rested:
			return nil
		case <-changed:
		}
	}
}
