package operator

import (
	"context"
	"database/sql"
	"time"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/deadline"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/forecast"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowcopy"
	"midstream/internal/engine/throttle"
	"midstream/internal/engine/window"
)

// Settings are what an operator may change while a run is at work. A run reads them through its Control, each time that
// it needs one, and keeps none of them.
type Settings struct {
	RowCopy rowcopy.Pace

	// Rest is the least share of its time, 0 to 1, that the row copy rests. Defaults to 0.
	Rest float64
	// MaxSlowdown is how much longer the application's statements may take on average, if the server
	// is in use. Defaults to throttle.DefaultSlowdown.
	MaxSlowdown throttle.Slowdown
	// Finish is the deadline of the run. Defaults to none.
	Finish deadline.Terms
	// Profile is the load of each hour. Defaults to Seen, which earlier runs saw; both may be zero.
	Profile, Seen forecast.Profile
	// FullSpeed has all workers copy rows however much the application is slowed.
	FullSpeed bool
	// Lock bounds each attempt of the cut-over. Wait defaults to 250 ms, Work to 250 ms.
	Lock cutover.Budget
	// Throttle has the conditions that the run waits for. Defaults to none.
	Throttle Throttle
	// When defines when the table may be changed. Defaults to as soon as possible.
	When When
	// Kills define which sessions may be killed if they block a lock for too long. Defaults to
	// none.
	Kills lock.Kills
	// Backoff is the wait after the first failed attempt; it doubles up to MaxBackoff.
	// They default to 250 ms and 10 s.
	Backoff, MaxBackoff time.Duration
	// Attempts and GiveUp end the run with ErrGaveUp after as many attempts, or as long a time,
	// without the lock; 0 means never. The work is kept.
	Attempts int
	GiveUp   time.Duration
	// ReaderLag is how far a reader of the binlog that was named may be behind at the swap. Defaults to 10 s.
	ReaderLag time.Duration
}

// WithDefaults returns the settings, with defaults for the fields that are not set.
func (s Settings) WithDefaults() Settings {
	s.RowCopy, s.Lock = s.RowCopy.WithDefaults(), s.Lock.WithDefaults()
	if s.MaxSlowdown == (throttle.Slowdown{}) {
		s.MaxSlowdown = throttle.DefaultSlowdown()
	}
	if s.Finish.AtMost <= 0 {
		s.Finish.AtMost = deadline.DefaultAtMost
	}
	if s.Backoff <= 0 {
		s.Backoff = lock.DefaultBackoff
	}
	if s.MaxBackoff <= 0 {
		s.MaxBackoff = lock.MaxBackoff
	}
	if s.ReaderLag <= 0 {
		s.ReaderLag = 10 * time.Second
	}
	return s
}

// Throttle has the conditions that a run waits for. A field that is 0 or empty is not checked.
type Throttle struct {
	// CopyWindow is when rows may be copied, and read by the prescan and verify. Defaults to always.
	CopyWindow window.Window
	// CaptureDelay is how far capture may be behind the server.
	CaptureDelay time.Duration
	MaxLoad      []throttle.Limit // of status variables
	CriticalLoad []throttle.Limit // bounds; above one the run ends
	// History is the maximum number of entries in InnoDB's history list.
	History int
	// CheckpointAge is the largest share of the redo log, 0 to 1, that may be unflushed.
	CheckpointAge float64
	// Files are paths: the run waits while one of these files exists.
	Files []string
	// Query makes the run wait while the query's first value is above 0.
	Query string
	// URL makes the run wait while a GET of it returns another status than 2xx.
	URL string
	// ReplicaLag is how far a replica may be behind.
	ReplicaLag time.Duration
	Replicas   []Follower // that are looked at
	// FreeDisk is the number of bytes that must be free on the server's disk, if that is this
	// machine.
	FreeDisk int64
	// GivenDisk is the number of bytes that are free on the server's disk, if that is another
	// machine.
	GivenDisk int64
}

// Follower is a replica that was reached.
type Follower struct {
	Name string // host:port
	DB   *sql.DB
}

// Replica is what sensors read of it, but for its heartbeats.
func (f Follower) Replica() throttle.Replica {
	return throttle.Replica{Name: f.Name,
		Meant: func(ctx context.Context) (time.Duration, error) { return facts.MeantDelay(ctx, f.DB) },
		Off:   func(ctx context.Context) (bool, error) { return facts.StandsStill(ctx, f.DB) }}
}

// Terms are how the server's own statements ask for their lock now.
func (c *Control) Terms(s plan.Server) lock.Terms {
	live := c.Settings()
	return lock.Terms{
		SeesNobody: !s.MetadataLocks,
		Wait:       live.Lock.Wait,
		Backoff:    live.Backoff,
		Longest:    live.MaxBackoff,
		GiveUp:     live.GiveUp,
		Most:       live.Attempts,
		Kills:      live.Kills,
	}
}
