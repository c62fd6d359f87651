package history

import (
	"fmt"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/ops/record"
)

// TestProfile: a run of a day next to an application makes a profile for later runs on its server. Its
// pauses and other phases count as nothing seen. Runs on another server, or without an application,
// make none.
func TestProfile(t *testing.T) {
	folder, began := t.TempDir(), time.Date(2026, 1, 2, 0, 0, 0, 0, time.Local)
	run := func(server string, number int, statements float64) {
		w, err := Begin(folder, record.Run{Table: "shop.orders", Alter: "FORCE", Server: server, Process: number}, began)
		if err != nil {
			t.Fatal(err)
		}
		rows, phase := int64(0), event.PhaseCopy
		for minute := range 24 * 60 {
			at := began.Add(time.Duration(minute) * time.Minute)
			load := statements
			switch hour := at.Hour(); {
			case hour == 3: // a pause
				load = 0
			case hour >= 8 && hour < 18:
				load, rows = 10*statements, rows+100
			default:
				rows += 400
			}
			if at.Hour() == 23 {
				phase = event.PhaseVerify
			}
			w.Show(event.Progress{Phase: phase, RowsCopied: rows, Statements: load, ReplicaLag: -1, At: at})
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		run("db1:3306", i, 100)
	}
	run("db2:3306", 9, 0)
	p := Profile(folder, "db1:3306")
	if got := p.String(); got != "earlier runs, which saw 22 hours of the day" {
		t.Fatalf("it is of %q", got)
	}
	load := func(hour int) float64 { return p.Load(time.Date(2026, 6, 1, hour, 30, 0, 0, time.Local)) }
	if load(12) < 5*load(2) || load(12) > 1 || load(3) != load(2) {
		t.Errorf("the load is %.2f at noon, %.2f at night and %.2f in the pause", load(12), load(2), load(3))
	}
	for _, server := range []string{"db2:3306", "db3:3306"} {
		if p := Profile(folder, server); !p.IsZero() {
			t.Errorf("%s has a profile of %s", server, p)
		}
	}
	if !Profile("", "db1:3306").IsZero() || !Profile(fmt.Sprint(folder, "/none"), "db1:3306").IsZero() {
		t.Error("no folder has a profile")
	}
}
