package operator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowcopy"
	"midstream/internal/engine/throttle"
	"midstream/internal/mysql/dbconn"
)

// errFewConnections means that no connection would be left for the application.
var errFewConnections = errors.New("each worker needs a connection, and workers may take half of the free connections")

// roomForWorkers fails with errFewConnections if the server or the account has no room for so many more workers.
func roomForWorkers(ctx context.Context, db *sql.DB, more int) error {
	c, err := connections(ctx, db)
	if err != nil {
		return fmt.Errorf("count the free connections: %w", err)
	}
	free, most := freeIn(c)
	if more > 0 && int64(more) > free/2 {
		return fmt.Errorf("%w: %d of %d", errFewConnections, free, most)
	}
	return nil
}

// Workers are the numbers of workers that the row copy may have. A number that is not named is found, but
// not while the row copy must rest for a share of its time: more workers would take that back.
func (s Settings) Workers() throttle.Workers {
	first := s.RowCopy.First()
	if s.RowCopy.Workers > 0 || s.Rest > 0 {
		return throttle.Workers{First: first, Most: first}
	}
	return throttle.Workers{First: first, Most: rowcopy.MostWorkers}
}

// leaveEvery is the time between two counts of the free connections.
const leaveEvery = 5 * time.Second

// LeaveConnections copies rows, and makes the governor leave half of the free connections of the server,
// and of the account, to others meanwhile. The workers' own connections count as free.
func LeaveConnections(ctx context.Context, db *sql.DB, governor *throttle.Governor, copyRows func(context.Context) error) error {
	counting, stop := context.WithCancel(ctx)
	var counted sync.WaitGroup
	counted.Go(func() {
		for counting.Err() == nil {
			if c, err := connections(counting, db); err == nil {
				governor.Room(roomIn(c, governor.Workers()))
			}
			_ = dbconn.Sleep(counting, leaveEvery)
		}
	})
	err := copyRows(ctx)
	stop()
	counted.Wait()
	return err
}

// connections are the limits and counts of now. If the server does not show which connections are ours,
// all of the account count as ours.
func connections(ctx context.Context, db *sql.DB) (c plan.Connections, err error) {
	if c, err = facts.ReadConnections(ctx, db); err == nil && c.OfAccount > 0 && c.Ours == 0 {
		c.Ours, err = facts.CountOfAccount(ctx, db)
	}
	return c, err
}

// roomIn is the number of workers that may be, if so many are.
func roomIn(c plan.Connections, workers int) int {
	c.Ours = max(c.Ours, int64(workers))
	free, _ := freeIn(c)
	return (int(free) + workers) / 2
}

// freeIn is the number of connections that are free, and the limit that makes them so few: the server's
// or the account's.
func freeIn(c plan.Connections) (free, most int64) {
	free, most = c.Most-c.Open, c.Most
	if left := c.OfAccount - c.Ours - c.Others; c.OfAccount > 0 && left < free {
		return left, c.OfAccount
	}
	return free, most
}
