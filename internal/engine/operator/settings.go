package operator

import (
	"context"
	"database/sql"
	"time"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/rowcopy"
	"midstream/internal/engine/throttle"
)

// Settings are what an operator may change while a run is at work. A run reads them through its Control, each time that
// it needs one, and keeps none of them.
type Settings struct {
	RowCopy rowcopy.Pace

	// Rest is the least part of its time, 0 to 1, in which the row copy rests. Defaults to 0.
	Rest float64
	// MaxSlowdown is the part by which the application's statements may take longer on average, where
	// the server is in use. Defaults to 0.05.
	MaxSlowdown float64
	// FullSpeed has all workers copy rows however much the application is slowed.
	FullSpeed bool
	// Lock bounds each attempt of the cut-over. Wait defaults to 250 ms, Work to 250 ms.
	Lock cutover.Budget
	// Throttle says for what the run waits. Defaults to nothing.
	Throttle Throttle
	// When says when the table may be changed. Defaults to as soon as it can be.
	When When
	// Kills say who is ended that is in the way of a lock for too long. Defaults to nobody.
	Kills lock.Kills
	// Backoff is the wait after the first failed attempt; it doubles up to MaxBackoff.
	// They default to 250 ms and 10 s.
	Backoff, MaxBackoff time.Duration
	// Attempts and GiveUp end the run with ErrGaveUp after as many attempts, or so long, in which
	// the lock could not be had; 0: never. The work is kept.
	Attempts int
	GiveUp   time.Duration
}

// WithDefaults returns the settings with defaults for what is not set.
func (s Settings) WithDefaults() Settings {
	s.RowCopy, s.Lock = s.RowCopy.WithDefaults(), s.Lock.WithDefaults()
	if s.MaxSlowdown <= 0 {
		s.MaxSlowdown = 0.05
	}
	if s.Backoff <= 0 {
		s.Backoff = 250 * time.Millisecond
	}
	if s.MaxBackoff <= 0 {
		s.MaxBackoff = lock.MaxBackoff
	}
	return s
}

// Throttle says for what a run waits. What is 0 or empty is not looked at.
type Throttle struct {
	CaptureDelay  time.Duration    // the most that capture may be behind the server
	MaxLoad       []throttle.Limit // of status variables
	CriticalLoad  []throttle.Limit // likewise: the run ends
	History       int              // the most entries of InnoDB's history list
	CheckpointAge float64          // the largest share of the redo log that is not flushed
	Files         []string         // paths: the run waits while one of these files is there
	Query         string           // the run waits while its first value is above 0
	URL           string           // the run waits while a GET is answered by another status than 2xx
	ReplicaLag    time.Duration    // the most that a replica may be behind
	Replicas      []Follower       // that are looked at
	FreeDisk      int64            // bytes that must be free where the server's files are, if that is this machine
	GivenDisk     int64            // bytes that are free there, where that is another
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
