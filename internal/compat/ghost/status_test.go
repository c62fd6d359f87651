package ghost

import (
	"testing"
	"time"

	"midstream/internal/engine/event"
)

// TestStatusLine: what scripts read.
func TestStatusLine(t *testing.T) {
	p := event.Progress{
		RowsCopied:   7300,
		RowsTotal:    752865,
		Fraction:     0.0097,
		Applied:      3,
		Backlog:      7,
		BacklogLimit: 100,
		Position:     "binlog.000002:49942",
		CaptureDelay: 120 * time.Millisecond,
		ETA:          97 * time.Second,
	}
	gate := func(name, why string) []event.Gate { return []event.Gate{{Name: name, Why: why}} }
	half := p
	half.Fraction, half.RowsCopied = 0.5, 376432
	done := p
	done.Fraction, done.RowsCopied = 1, 700000
	for _, c := range []struct {
		status status
		want   string
	}{
		{status{progress: p, total: 61 * time.Second, copying: 2500 * time.Millisecond},
			"Copy: 7300/752865 1.0%; Applied: 3; Backlog: 7/100; Time: 1m1s(total), 2s(copy); streamer: binlog.000002:49942; Lag: 0.12s, HeartbeatLag: 0.12s, State: migrating; ETA: N/A"},
		{status{progress: half, gates: gate("max-load", "Threads_running is 26, at most 25")},
			"Copy: 376432/752865 50.0%; Applied: 3; Backlog: 7/100; Time: 0s(total), 0s(copy); streamer: binlog.000002:49942; Lag: 0.12s, HeartbeatLag: 0.12s, State: throttled, max-load Threads_running=26 >= 25; ETA: 1m37s"},
		{status{progress: done, postponed: true},
			"Copy: 700000/700000 100.0%; Applied: 3; Backlog: 7/100; Time: 0s(total), 0s(copy); streamer: binlog.000002:49942; Lag: 0.12s, HeartbeatLag: 0.12s, State: postponing cut-over; ETA: due"},
	} {
		if got := c.status.line(); got != c.want {
			t.Errorf("%s\ninstead of\n%s", got, c.want)
		}
	}
	for name, want := range map[[2]string]string{
		{"paused", "paused by ann"}: "commanded by user", {"file", "the file /f exists"}: "flag-file", {"query", "the query returns 1"}: "throttle-query",
		{"replica-lag r1:3306", "replica r1:3306 is 2.5s behind; the limit is 1.5s, and the run continues at half of it"}: "r1:3306 replica-lag=2.500000s", {"backlog", "too many keys"}: "too many keys",
	} {
		if got := reason(gate(name[0], name[1])[0]); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	for at, want := range map[[2]time.Duration]bool{
		{7, 3600}: true, {61, 3600}: false, {65, 3600}: true, {185, 3600}: false, {210, 3600}: true, {211,
			170}: false, {215, 170}: true, {211, 50}: true,
	} {
		half.ETA = at[1] * time.Second
		if got := (status{progress: half, total: at[0] * time.Second}).due(); got != want {
			t.Errorf("after %d s, %d s before the end: %t", at[0], at[1], got)
		}
	}
}
