package operator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/event"
)

// Victim is a session that an operator wants to kill, as a display has shown it.
type Victim struct {
	Connection uint64
	User, Host string
	Age        time.Duration // of its transaction or statement at that time
}

// sameAge is how much younger a session's transaction may be than the shown one: some ages are in seconds.
const sameAge = 2 * time.Second

// Kill kills a session that holds a lock of the table, by the rules of --kill-blockers-after: it spares replication, backups, other
// runs, users and hosts that the settings do not permit, and large transactions. It fails with *NotNow if the session is not the one
// that was shown, or is spared.
func Kill(ctx context.Context, c *Control, asked Victim) (event.Blocker, error) {
	refused := func(why, next string) error {
		return &NotNow{fmt.Sprintf("connection %d was not killed", asked.Connection), why, next}
	}
	holding, waiting, err := c.Blockers(ctx)
	if err != nil {
		return event.Blocker{}, fmt.Errorf("check connection %d: %w", asked.Connection, err)
	}
	at := slices.IndexFunc(holding, func(b event.Blocker) bool { return b.ConnectionID == asked.Connection && !b.Snapshot })
	switch {
	case slices.ContainsFunc(waiting, func(b event.Blocker) bool { return b.ConnectionID == asked.Connection }):
		return event.Blocker{}, refused("it waits for a lock of the table itself", "nothing: it does not block the swap alone")
	case at < 0:
		return event.Blocker{}, refused("it holds no lock of the table now", "nothing, if the run goes on; an old snapshot holds no lock: to kill it, use KILL")
	}
	b := holding[at]
	switch {
	case b.User != asked.User || b.Host != asked.Host:
		return b, refused("it belongs to "+b.User+"@"+b.Host, "check the sessions again")
	case b.Age < asked.Age-sameAge:
		return b, refused("it has ended the transaction or statement that was shown, and runs another one", "check the sessions again")
	}
	if why := c.Settings().Kills.Spares(b); why != "" {
		return b, refused(why, "let it end, or use KILL with an account of the server")
	}
	c.mu.Lock()
	watcher := c.watcher
	c.mu.Unlock()
	if _, err := watcher.DB.ExecContext(ctx, fmt.Sprintf("KILL %d", b.ConnectionID)); err != nil {
		return b, refused(err.Error(), "use KILL with an account that may kill sessions of other accounts")
	}
	return b, nil
}

// seenFor is how long a session with an old snapshot counts as there after the run has seen it: a run that waits for it asks often.
const seenFor = 2 * time.Second

// Saw takes what the run has found to block the swap at a time: an old snapshot holds no lock, so only the run knows that it matters.
func Saw(c *Control, found []event.Blocker, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saw = event.Blocked{Blockers: found, At: at}
}

func oldSnapshots(c *Control, now time.Time) []event.Blocker {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.saw.At) > seenFor {
		return nil
	}
	return slices.DeleteFunc(c.saw.Until(now).Blockers, func(b event.Blocker) bool { return !b.Snapshot })
}
