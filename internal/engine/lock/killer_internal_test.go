package lock

import (
	"testing"
	"time"

	"midstream/internal/engine/event"
)

// TestAKillIsAnnounced: an operator lets a run kill a session that has blocked it for a while. The session has the time of the setting
// from then on, each event has what is left of it, and the time for which the session was seen counts from its first sight.
func TestAKillIsAnnounced(t *testing.T) {
	b := event.Blocker{ConnectionID: 7, Since: 1}
	k := NewKiller(nil, Kills{}, func(e event.Event) { t.Errorf("%v", e) })
	if err := k.Saw(t.Context(), []event.Blocker{b}); err != nil {
		t.Fatal(err)
	}
	first := k.since[7].at
	k.since[7] = sighting{first.Add(-70 * time.Second), 1}
	k.Change(Kills{After: 30 * time.Second})
	if err := k.Saw(t.Context(), []event.Blocker{b}); err != nil { // it is not killed: there is no pool
		t.Fatal(err)
	}
	now := k.armed.Add(8 * time.Second)
	spared := event.Blocker{ConnectionID: 8, Role: event.RoleBackup}
	e := event.Blocked{Blockers: []event.Blocker{spared, b}, At: now}
	k.Due(&e)
	if e.KillAfter != 30*time.Second || e.KillIn != 22*time.Second || e.Kills != 1 {
		t.Errorf("%+v", e)
	}
	if got := k.waited(b, now); got < 78*time.Second || got > 90*time.Second {
		t.Errorf("the session has blocked for %s", got)
	}
	k.Change(Kills{})
	e = event.Blocked{Blockers: e.Blockers, At: now}
	if k.Due(&e); e.Kills != 0 || e.KillAfter != 0 {
		t.Errorf("%+v", e)
	}
}
