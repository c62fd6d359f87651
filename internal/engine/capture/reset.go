package capture

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/mysql/binlog"
)

// A server that resets its binlogs (RESET BINARY LOGS AND GTIDS, RESET MASTER) uses the names of their files again. A
// reader of the former files waits for the new one to grow to the place where it was, or reads on in a later file with
// the next name. Then changes are lost. This file notices that.

// errSilent means that the server has more in its binlog than it sends. It is a binlog.ErrConnection: another connection shows
// why.
var errSilent = fmt.Errorf("%w: the server does not send what it has written", binlog.ErrConnection)

// overdue is how late a heartbeat must be before capture asks why.
const overdue = time.Second

// Born returns when a file of the binlog was created, by its server's clock; 0 if it was not read.
func (c *Capture) Born(file string) uint32 {
	if c.deps.Reader == nil {
		return 0
	}
	return c.deps.Reader.Birth(file)
}

// missing fails with binlog.ErrPurged if heartbeats before one that was seen have not come. Each of them was committed
// before the next one was begun. REQUIRES: mu is held.
func (c *Capture) missing(seen uint64) error {
	next := c.pulse.Last() + 1
	if _, issued := c.issued[next]; !issued || seen <= next || c.deps.End != nil {
		return nil
	}
	return fmt.Errorf("%w: heartbeats %d to %d are missing, so the binlogs were reset, or the server has lost a part of them",
		binlog.ErrPurged, next, seen-1)
}

// idle checks, while the server has nothing to send and heartbeats are overdue, that its binlog is still the one that is
// read. An end before the reader's place is that of another binlog.
func (c *Capture) idle(ctx context.Context) error {
	at := c.deps.Reader.Position()
	same := at == c.idleAt
	c.idleAt = at
	if c.deps.Tail == nil || !same || c.Delay() < overdue {
		return nil
	}
	end, err := c.deps.Tail(ctx)
	if err != nil {
		return nil // the next heartbeat of the server asks again; others report a lost server
	}
	switch order := end.Compare(at); {
	case order < 0:
		return fmt.Errorf("%w: the server's binlog ends at %s, so it was reset", binlog.ErrPurged, end)
	case order > 0:
		return errSilent
	}
	return nil
}
