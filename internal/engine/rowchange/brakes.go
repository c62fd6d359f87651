package rowchange

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/brakes"
	"midstream/internal/engine/forecast"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/throttle"
	"midstream/internal/mysql/dbconn"
)

// newBrakes returns the brakes of a change: those of a run that captures no changes.
func newBrakes(c *Change) *brakes.Brakes {
	return brakes.New(brakes.Deps{
		Pool: c.pool, Control: c.control, Emit: c.emit, Server: c.plan.Server, Schema: c.plan.Source.Name.Schema,
		BeatOn:       func(ctx context.Context, replica *sql.DB) (uint64, error) { return c.store.BeatOn(ctx, replica) },
		Captured:     func(operator.Throttle) []throttle.Sensor { return c.freezes() },
		BacklogLimit: 1, Backlogged: func() int { return 0 },
		Written:     func(context.Context) (int64, error) { return 0, nil },
		Sensitivity: func() float64 { return 1 },
		Standing:    func() forecast.Standing { return forecast.Standing{} },
	})
}

// freezes is the sensor of the file that holds a run: it changes no rows while the file exists.
func (c *Change) freezes() []throttle.Sensor {
	if file := c.control.Settings().When.Gone; file != "" {
		return []throttle.Sensor{throttle.File(file)}
	}
	return nil
}

// mayRead waits until rows may be read, after work that took so long.
func (c *Change) mayRead(ctx context.Context, took time.Duration) error {
	if err := c.brakes.PaceCopy(ctx, 0, took); err != nil {
		return err
	}
	return c.brakes.CopyMayBegin(ctx)
}

// beatEvery is the time between two heartbeats.
const beatEvery = 100 * time.Millisecond

// beat commits heartbeats for the replicas that are watched.
func (c *Change) beat(ctx context.Context, last uint64) error {
	var session *dbconn.Session
	defer func() {
		if session != nil {
			session.Close()
		}
	}()
	for number := last + 1; ; {
		if len(c.control.Settings().Throttle.Replicas) > 0 {
			var err error
			if session == nil {
				session, err = c.pool.Session(ctx)
			}
			if err == nil {
				err = c.store.Beat(ctx, session, number)
			}
			switch {
			case err == nil:
				c.brakes.WroteBeat(number, time.Now())
				number++
			case ctx.Err() != nil:
				return nil
			case !dbconn.Contended(err):
				return fmt.Errorf("write a heartbeat: %w", err)
			}
		}
		if dbconn.Sleep(ctx, beatEvery) != nil {
			return nil
		}
	}
}

// checkLimits fails if the server does not take the limits of its load, or the query that throttles the run.
func (c *Change) checkLimits(ctx context.Context) error {
	t := c.control.Settings().Throttle
	if err := throttle.CheckLimits(ctx, c.pool.DB(), slices.Concat(t.MaxLoad, t.CriticalLoad)...); err != nil {
		return err
	}
	if t.Query != "" {
		return throttle.CheckQuery(ctx, c.pool, c.plan.Source.Name.Schema, t.Query)
	}
	return nil
}
