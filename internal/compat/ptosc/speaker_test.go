package ptosc

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TestSpeaks: the words that scripts look for, of events that a test on a server does not bring about in order.
func TestSpeaks(t *testing.T) {
	now := time.Now()
	gates := func(g ...event.Gate) event.Event { return event.Throttled{Gates: g, At: now} }
	for _, c := range []struct {
		options string
		event   event.Event
		out     string
		err     string
	}{
		{event: gates(event.Gate{Name: "max-load", Why: "Threads_running is 30, at most 25; Threads_connected is 900.5, at most 9"}), err: "Pausing because Threads_running=30, Threads_connected=900.5.\n"},
		{event: gates(event.Gate{Name: "replica-lag r1:3306", Why: "replica r1:3306 is 2.5s behind; the limit is 1s, and the run continues at half of it"}), err: "Replica lag is 2.5 seconds on r1:3306.  Waiting.\n"},
		{event: gates(event.Gate{Name: "replication r1:3306", Why: "replication of r1:3306 is stopped"}), err: "Replica 'r1:3306' is stopped.\nstop\n"},
		{options: "--no-fail-on-stopped-replication", event: gates(event.Gate{Name: "replication r1:3306", Why: "replication of r1:3306 is stopped"}), err: "Replica 'r1:3306' is stopped.  Waiting.\n"},
		{event: gates(event.Gate{Name: "replication r1:3306", Why: "it can't be reached"}), err: "Pausing because it can't be reached.\n"},
		{options: "--pause-file /p", event: gates(event.Gate{Name: "file", Why: "the file /p exists"}), out: "Sleeping because /p exists\n"},
		{options: "--quiet", event: gates(event.Gate{Name: "max-load", Why: "Threads_running is 30, at most 25"})},
		{event: event.Progress{Phase: event.PhaseCopy, At: now, Fraction: 0.5}},
		{event: event.Progress{Phase: event.PhaseCopy, At: now.Add(time.Minute), Fraction: 0.5}, err: "Copying `shop`.`orders`:  50% 01:00 remain\n"},
		{options: "--progress time,300", event: event.Progress{Phase: event.PhaseCopy, At: now.Add(time.Minute), Fraction: 0.5}},
		{options: "--progress percentage,50", event: event.Progress{Phase: event.PhaseCopy, At: now.Add(48 * time.Hour), Fraction: 0.5}, err: "Copying `shop`.`orders`:  50% 2+00:00:00 remain\n"},
		{options: "-q", event: event.Progress{Phase: event.PhaseCopy, At: now.Add(time.Minute), Fraction: 0.5}},
	} {
		asked, err := Read(append(strings.Fields(c.options), "D=shop,t=orders", "--execute"), "")
		if err != nil {
			t.Fatal(err)
		}
		var out, problems bytes.Buffer
		s := NewSpeaker(asked, &out, &problems, func() { problems.WriteString("stop\n") })
		s.Planned(&plan.Plan{Source: &schema.Table{Name: asked.Table}, Alter: &ddl.Alter{}}, "")
		s.Show(event.PhaseEntered{Phase: event.PhaseCopy, At: now})
		s.began, s.reported = now, now
		out.Reset()
		s.Show(c.event)
		if out.String() != c.out || problems.String() != c.err {
			t.Errorf("%s, %#v:\n%q, %q\ninstead of\n%q, %q", c.options, c.event, out.String(), problems.String(), c.out, c.err)
		}
	}
}

// TestTheOldTableOfWhereIsKept: it has the rows that --where leaves out. No statement drops it, and the reason is the true one.
func TestTheOldTableOfWhereIsKept(t *testing.T) {
	asked, err := Read([]string{"--where", "id > 5", "--print", "D=shop,t=orders", "--execute"}, "")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := NewSpeaker(asked, &out, &out, func() {})
	s.Planned(&plan.Plan{Source: &schema.Table{Name: asked.Table}, Alter: &ddl.Alter{}}, "")
	s.Done(asked.Table, migration.Result{Old: "shop.orders_old"})
	if said := out.String(); strings.Contains(said, "DROP TABLE") || strings.Contains(said, "--no-drop-old-table") ||
		!strings.Contains(said, "it has the rows that --where has left out.  It is shop.orders_old.") {
		t.Errorf("%s", said)
	}
}
