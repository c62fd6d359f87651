package throttle

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"
)

// Beats knows when heartbeats were committed. It is safe for concurrent use.
type Beats struct {
	mu    sync.Mutex
	first uint64      // number of times[0]
	times []time.Time // of the youngest ones
}

// mostBeats is how many are remembered: an hour of one every 50 ms.
const mostBeats = 72_000

// Wrote takes the number of a heartbeat that was just committed. Numbers grow by one.
func (b *Beats) Wrote(number uint64, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.times) > 0 && number != b.first+uint64(len(b.times)) {
		b.times = nil // another run's numbers
	}
	if len(b.times) == 0 {
		b.first = number
	}
	b.times = append(b.times, at)
	if len(b.times) > mostBeats {
		drop := len(b.times) - mostBeats/2
		b.first, b.times = b.first+uint64(drop), append([]time.Time(nil), b.times[drop:]...)
	}
}

// Behind returns how long a server has been behind, if number is its youngest heartbeat: the time
// since the next heartbeat was committed. It is 0 if there is no next one yet. It uses no clock but
// ours.
func (b *Beats) Behind(number uint64, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.times) == 0 || number >= b.first+uint64(len(b.times))-1 {
		return 0
	}
	next := 0
	if number >= b.first {
		next = int(number - b.first + 1)
	}
	return max(0, now.Sub(b.times[next]))
}

// Replica is a server that replicates the heartbeats.
type Replica struct {
	Name string // host:port
	// Beat reads the number of the youngest heartbeat on the replica, and 0 if the table has not
	// come yet.
	Beat func(ctx context.Context) (uint64, error)
	// Meant reads how far the replica should be behind (SOURCE_DELAY). Off reports whether a part
	// of its replication is not started.
	Meant func(ctx context.Context) (time.Duration, error)
	Off   func(ctx context.Context) (bool, error)
}

// delayEvery is how often a replica is asked how far it should be behind.
const delayEvery = time.Minute

// Lag is a sensor of how far a replica is behind, beyond its intended delay (SOURCE_DELAY). It
// passes the youngest heartbeat and that delay to behind. It also holds apply, because applied
// changes are replicated like the copy.
func Lag(r Replica, most time.Duration, behind func(number uint64, meant time.Duration) time.Duration) Sensor {
	var meant time.Duration
	var asked time.Time
	read := func(ctx context.Context) (float64, error) {
		if time.Since(asked) > delayEvery {
			delay, err := r.Meant(ctx)
			if err != nil {
				return 0, fmt.Errorf("replica %s: %w", r.Name, err)
			}
			if delay > 0 {
				// 8.0.12 counts in full seconds, and can be one more behind.
				delay += time.Second
			}
			meant, asked = delay, time.Now()
		}
		number, err := r.Beat(ctx)
		if err != nil {
			return 0, fmt.Errorf("replica %s: %w", r.Name, err)
		}
		return max(0, behind(number, meant)-meant).Seconds(), nil
	}
	return Sensor{Name: "replica-lag " + r.Name, Every: 50 * time.Millisecond, Apply: true,
		Look: Bounded(most.Seconds(), read, func(now, most float64) string {
			return fmt.Sprintf("replica %s is %s behind; the limit is %s, and the run continues at half of it", r.Name, seconds(now), seconds(most))
		})}
}

// Still ends Replicating's message about a replica with stopped replication.
const Still = " is stopped"

// Replicating is a sensor that is closed while a replica's replication is stopped.
func Replicating(r Replica) Sensor {
	return Sensor{Name: "replication " + r.Name, Every: time.Second, Apply: true, Look: func(ctx context.Context) (string, error) {
		off, err := r.Off(ctx)
		if err != nil {
			return "", fmt.Errorf("replica %s: %w", r.Name, err)
		}
		if off {
			return "replication of " + r.Name + Still, nil
		}
		return "", nil
	}}
}

// mostQueued is a fifth of group_replication_flow_control_applier_threshold's default. At that
// threshold the group begins to hold its writers back.
const mostQueued = 5000

// FlowControl is a sensor of what waits on the slowest member of Group Replication to be certified or applied.
func FlowControl(db *sql.DB) Sensor {
	read := func(ctx context.Context) (n float64, err error) {
		err = db.QueryRowContext(
			ctx,
			`SELECT COALESCE(MAX(GREATEST(count_transactions_in_queue, count_transactions_remote_in_applier_queue)), 0)
			FROM performance_schema.replication_group_member_stats`,
		).Scan(
			&n,
		)
		return n, err
	}
	return Sensor{Name: "flow-control", Every: time.Second, Look: Bounded(mostQueued, read, func(now, most float64) string {
		return fmt.Sprintf("%.0f transactions wait on a member of the group; the limit is %.0f, and the run continues at half of it", now, most)
	})}
}
