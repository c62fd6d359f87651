package humanize

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"midstream/internal/engine/event"
)

// TestL9_BlockedIsShort: who blocks, for how long and with what is a line of at most 200 characters, and what to do is the next one, for
// any text that a server may have.
func TestL9_BlockedIsShort(t *testing.T) {
	long := strings.Repeat("long\n\x1b[2J text of a server, ", 40)
	one := event.Blocker{
		ConnectionID: 162, User: "app", Host: "10.0.0.7", Command: "Sleep", Age: 8 * time.Second, Table: "shop.orders",
		Why: "holds a metadata lock", Lock: "SHARED_READ", Statement: "select 1",
	}
	all := one
	all.User, all.Host, all.Command, all.Table, all.Why, all.Statement = long, long, long, long, long, long
	all.Role, all.Changed = event.Role(long), 1e12
	all.ConnectionID = 1<<64 - 1
	snapshot := one
	snapshot.Snapshot, snapshot.Table, snapshot.Lock, snapshot.Why, snapshot.Statement = true, "", "", "its snapshot is older than "+long, long
	for name, blockers := range map[string][]event.Blocker{
		"one": {one}, "long": {all}, "snapshot": {snapshot}, "many": {all, one, all, one, one}, "role": {{Command: "Query", Role: event.RoleReplication}},
	} {
		text := Blocked(event.Blocked{Run: "shop.orders", Waiting: 599 * time.Second, Blockers: blockers})
		for i, line := range strings.Split("20:10:00  "+text, "\n") {
			if utf8.RuneCountInString(line) > 200 || strings.ContainsAny(line, "\x1b\t") {
				t.Errorf("%s: line %d has %d characters: %q", name, i+1, utf8.RuneCountInString(line), line)
			}
		}
	}
	for _, c := range []struct {
		blockers []event.Blocker
		want     string
	}{
		{[]event.Blocker{one}, `cut over: BLOCKED 6 s by connection 162, app@10.0.0.7: transaction open for 8 s, last statement "select 1"
          Queries are not waiting. To kill it: KILL 162. To let the run do it: midstream set  shop.orders kill-blockers-after=30s.`},
		{[]event.Blocker{one, one, one, one, one}, "and 2 more; to list all: midstream blockers  shop.orders\n"},
		{[]event.Blocker{one, one, one, one, one}, "To kill them: KILL 162; KILL 162; KILL 162; and 2 more."},
		{[]event.Blocker{{ConnectionID: 7, User: "u", Host: "h", Command: "Query", Why: "holds a global read lock", Statement: "select 2", Changed: 3}},
			`connection 7, u@h: query running for 0 s, holds a global read lock, 3 rows changed, statement "select 2"`},
	} {
		if text := Blocked(event.Blocked{Run: "shop.orders", Waiting: 6 * time.Second, Blockers: c.blockers}); !strings.Contains(text, c.want) {
			t.Errorf("%s\nis missing in\n%s", c.want, text)
		}
	}
}

// TestBlockedHasTheTimeOfTheRun: the run has waited for longer than the session of now has blocked it.
func TestBlockedHasTheTimeOfTheRun(t *testing.T) {
	for age, want := range map[time.Duration]string{
		0: "BLOCKED for 42 s, now by connection 137,", 41 * time.Second: "BLOCKED 42 s by connection 137,", time.Hour: "BLOCKED 42 s by connection 137,",
	} {
		e := event.Blocked{Waiting: 42 * time.Second, Blockers: []event.Blocker{{ConnectionID: 137, Command: "Query", Age: age}}}
		if got := Blocked(e); !strings.Contains(got, want) {
			t.Errorf("%s: %s", age, got)
		}
	}
	spared := event.Blocked{Run: "a.b", KillAfter: time.Second, Blockers: []event.Blocker{{ConnectionID: 7, Age: time.Minute}}}
	if got := strings.Join(Advice(spared), " "); !strings.Contains(got, "To kill it: KILL 7.") || strings.Contains(got, "kill-blockers-after") {
		t.Errorf("a session that the run spares: %s", got)
	}
}

// TestProgressHasNoZeros: a run that waits before its first row reports no zero as a fact.
func TestProgressHasNoZeros(t *testing.T) {
	for p, want := range map[event.Phase]string{
		event.PhaseCopy: "copy: none of 295,488 yet  time left unknown", event.PhaseRows: "rows: none of 295,488 yet  time left unknown",
		event.PhasePrescan: "prepare: none of 295,488 yet", event.PhaseVerify: "verify: none of 295,488 yet  time left unknown  backlog 3",
	} {
		progress := event.Progress{Phase: p, RowsTotal: 295_488, ETA: -1, Slowdown: -1}
		if p == event.PhaseVerify {
			progress.Backlog = 3
		}
		if got := Progress(progress); got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
}
