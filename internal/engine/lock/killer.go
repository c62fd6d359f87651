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

// Kills define which sessions that block a lock may be killed.
type Kills struct {
	// After is how long a session must have been seen to block the lock; 0 means that none is
	// killed.
	After time.Duration
	// Users and Hosts are patterns of path.Match. A session must match one of each list; an empty
	// list matches all.
	Users, Hosts []string
	// Rows is the maximum number of rows that a transaction may have changed. A larger transaction
	// would take long to roll back, so the run lets it finish. Defaults to 10,000.
	Rows int
}

// DefaultRows is the default of Kills.Rows.
const DefaultRows = 10_000

// Spares returns why a session is not killed; "" if it is.
func (k Kills) Spares(b event.Blocker) string {
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
		return "it is another run of Midstream"
	case !fits(k.Users, b.User):
		return "its user is not in --kill-user"
	case !fits(k.Hosts, b.Host):
		return "its host is not in --kill-host"
	case b.Changed < 0:
		return "the server does not report how much it has changed, and its rollback may take long"
	case b.Changed > int64(most):
		return fmt.Sprintf("it has changed %d rows, and their rollback may take long", b.Changed)
	}
	return ""
}

// Killer kills sessions that block the lock for too long.
type Killer struct {
	kills Kills
	pool  *dbconn.Pool
	emit  event.Listener

	since map[uint64]sighting // by connection
	// armed is when the rules have come to kill sessions, if they did not from the start: no time before it counts for a kill.
	armed time.Time
	// told holds the last report about each session: why it is spared, or that it was killed.
	told map[uint64]string
}

// sighting is the time since when a session blocks the lock.
type sighting struct {
	at time.Time
	// lock is Blocker.Since: another value means another transaction, or statement, with its own
	// time.
	lock uint64
}

// NewKiller returns a Killer that has seen no session.
func NewKiller(pool *dbconn.Pool, kills Kills, emit event.Listener) *Killer {
	return &Killer{kills: kills, pool: pool, emit: emit, since: map[uint64]sighting{}, told: map[uint64]string{}}
}

// Change replaces the rules from now on. The goroutine that calls Saw calls it.
func (k *Killer) Change(kills Kills) {
	if k.kills.After <= 0 && kills.After > 0 {
		k.armed = time.Now()
	}
	k.kills = kills
}

// Forget starts the time of all sessions again, because no session blocked the lock for a while.
func (k *Killer) Forget() { clear(k.since) }

const killed = "killed"

// waited returns how long a session has blocked the lock.
func (k *Killer) waited(b event.Blocker, now time.Time) time.Duration {
	seen, is := k.since[b.ConnectionID]
	if !is || seen.lock != b.Since {
		seen = sighting{now, b.Since}
		k.since[b.ConnectionID] = seen
		delete(k.told, b.ConnectionID)
	}
	waited := now.Sub(seen.at)
	if b.Snapshot {
		return min(waited, b.Age) // the age of its transaction
	}
	return waited
}

// left returns how long a session that has blocked the lock for a time may still do so.
func (k *Killer) left(waited time.Duration, now time.Time) time.Duration {
	if !k.armed.IsZero() {
		waited = min(waited, now.Sub(k.armed))
	}
	return k.kills.After - waited
}

// Due adds to an event which of its sessions are going to be killed, and when.
func (k *Killer) Due(e *event.Blocked) {
	if e.KillAfter = max(0, k.kills.After); e.KillAfter == 0 {
		return
	}
	for _, b := range e.Blockers {
		if k.kills.Spares(b) != "" {
			continue
		}
		left := max(0, k.left(k.waited(b, e.At), e.At))
		if e.Kills++; e.Kills == 1 || left < e.KillIn {
			e.KillIn = left
		}
	}
}

// Saw takes the sessions that block the lock now, and kills those that have blocked it for too
// long. It reports each session that was killed or is spared.
func (k *Killer) Saw(ctx context.Context, blockers []event.Blocker) error {
	now := time.Now()
	there := map[uint64]bool{}
	for _, b := range blockers {
		there[b.ConnectionID] = true
		waited := k.waited(b, now)
		if k.kills.After <= 0 || k.left(waited, now) > 0 {
			continue
		}
		if why := k.kills.Spares(b); why != "" {
			if k.told[b.ConnectionID] != why {
				k.told[b.ConnectionID] = why
				k.emit(event.Note{At: now, Text: b.Who() + " is not killed: " + why})
			}
			continue
		}
		if k.told[b.ConnectionID] == killed { // and is about to go
			continue
		}
		k.told[b.ConnectionID] = killed
		ended, err := k.pool.Kill(ctx, b.ConnectionID)
		if err != nil {
			return fmt.Errorf("kill %s, which blocks the lock: %w", b.Who(), err)
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
