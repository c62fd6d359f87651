package capture

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/mysql/binlog"
)

// pollEvery is how often capture checks whether the reader has reached the binlog's former end.
const pollEvery = 2 * time.Millisecond

// noteEnd records the end of the binlog after heartbeat n, if heartbeats are not written to the
// binlog.
func (c *Capture) noteEnd(ctx context.Context, n uint64) error {
	c.look()
	if c.deps.End == nil {
		return nil
	}
	at := c.deps.Reader.Position()
	end, err := c.deps.End(ctx)
	if err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	if end.Compare(at) < 0 {
		return fmt.Errorf("heartbeat: %w: the server's binlog ends at %s, and was read to %s, so it was reset", binlog.ErrPurged, end, at)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends[n] = end
	return nil
}

// look marks heartbeats as back if the reader has passed their places. NB: the reader moves on only
// when an event is handled.
func (c *Capture) look() {
	if c.deps.End == nil {
		return
	}
	at := c.deps.Reader.Position()
	c.mu.Lock()
	defer c.mu.Unlock()
	var seen uint64
	for n, end := range c.ends {
		if !at.IsZero() && at.Compare(end) >= 0 {
			seen = max(seen, n)
			delete(c.ends, n)
		}
	}
	if seen > c.pulse.Last() {
		c.back(seen)
	}
}
