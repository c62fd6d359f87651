package lock

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/dbconn"
)

// Kills say which sessions may be ended that stand in the way of a lock.
type Kills struct {
	// After is how long a session must have been seen in the way; 0: none is ended.
	After time.Duration
	// Users and Hosts are patterns of path.Match of which one must fit; none: any will do.
	Users, Hosts []string
	// Rows is the most that a transaction may have changed. One that has changed more takes its time
	// to roll back, and is let end. Defaults to 10,000.
	Rows int
}

// DefaultRows is Kills.Rows where it is 0.
const DefaultRows = 10_000

// spares says why a session is not ended; "" if it is.
func (k Kills) spares(b event.Blocker) string {
	fits := func(patterns []string, text string) bool {
		return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
			ok, _ := path.Match(p, text)
			return ok
		})
	}
	most := k.Rows
	if most <= 0 {
		most = DefaultRows
	}
	switch {
	case b.Role == event.RoleReplication:
		return "it is the server's replication"
	case b.Role == event.RoleBackup:
		return "it is a backup"
	case b.Role == event.RoleMidstream:
		return "it is another run of Midstream's"
	case !fits(k.Users, b.User):
		return "its user is none of those that may be ended"
	case !fits(k.Hosts, b.Host):
		return "its host is none of those that may be ended"
	case b.Changed < 0:
		return "the server does not tell how much it has changed, and rolling it back may take long"
	case b.Changed > int64(most):
		return fmt.Sprintf("it has changed %d rows, and rolling them back may take longer than its end", b.Changed)
	}
	return ""
}

// Killer ends sessions that stand in the way for too long.
type Killer struct {
	kills Kills
	pool  *dbconn.Pool
	emit  event.Listener

	since map[uint64]sighting // by connection
	told  map[uint64]string   // what was told of each: why it is spared, or that it was ended
}

// sighting is since when a session is in the way.
type sighting struct {
	at   time.Time
	lock uint64 // Blocker.Since: with another one it is another transaction, or statement, that begins anew
}

// NewKiller returns one that has seen nobody.
func NewKiller(pool *dbconn.Pool, kills Kills, emit event.Listener) *Killer {
	return &Killer{kills: kills, pool: pool, emit: emit, since: map[uint64]sighting{}, told: map[uint64]string{}}
}

// Change has it end whom others say from now on. It is called by the goroutine that calls Saw.
func (k *Killer) Change(kills Kills) { k.kills = kills }

// Forget has the time begin anew for everybody: nobody was in the way of anything for a while.
func (k *Killer) Forget() { clear(k.since) }

const killed = "killed"

// waited is for how long a session has been in the way.
func (k *Killer) waited(b event.Blocker, now time.Time) time.Duration {
	seen, is := k.since[b.ConnectionID]
	if !is || seen.lock != b.Since {
		seen = sighting{now, b.Since}
		k.since[b.ConnectionID] = seen
		delete(k.told, b.ConnectionID)
	}
	waited := now.Sub(seen.at)
	if b.Snapshot {
		return min(waited, b.Age) // which is its transaction's
	}
	return waited
}

// Saw takes those who are in the way now, and ends those who have been for too long. Each that was ended, or
// is spared, is told.
func (k *Killer) Saw(ctx context.Context, blockers []event.Blocker) error {
	if k.kills.After <= 0 {
		return nil
	}
	now := time.Now()
	there := map[uint64]bool{}
	for _, b := range blockers {
		there[b.ConnectionID] = true
		waited := k.waited(b, now)
		if waited < k.kills.After {
			continue
		}
		if why := k.kills.spares(b); why != "" {
			if k.told[b.ConnectionID] != why {
				k.told[b.ConnectionID] = why
				k.emit(event.Note{At: now, Text: b.Who() + " is not ended: " + why})
			}
			continue
		}
		if k.told[b.ConnectionID] == killed { // and is about to go
			continue
		}
		k.told[b.ConnectionID] = killed
		ended, err := k.pool.Kill(ctx, b.ConnectionID)
		if err != nil {
			return fmt.Errorf("end %s, which is in the way: %w", b.Who(), err)
		}
		if ended {
			k.emit(event.Killed{Blocker: b, Waited: waited, At: now})
		}
	}
	for id := range k.since {
		if !there[id] {
			delete(k.since, id)
			delete(k.told, id)
		}
	}
	return nil
}
