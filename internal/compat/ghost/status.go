package ghost

import (
	"fmt"
	"os"
	"strings"
	"time"

	"midstream/internal/compat/speech"
	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
	"midstream/internal/mysql/escape"
)

// status is how a run stands, in that program's words.
type status struct {
	progress  event.Progress
	gates     []event.Gate
	postponed bool          // only the swap is left, and must not be
	copying   time.Duration // how long rows were copied
	total     time.Duration
}

// clock is a time as that program writes it.
func clock(d time.Duration) string { return d.Truncate(time.Second).String() }

// line is the one that scripts read.
func (s status) line() string {
	p := s.progress
	rows, percent := p.RowsTotal, 100*p.Fraction
	if s.copied() {
		rows, percent = p.RowsCopied, 100
	}
	behind := p.CaptureDelay.Seconds()
	return fmt.Sprintf(
		"Copy: %d/%d %.1f%%; Applied: %d; Backlog: %d/%d; Time: %s(total), %s(copy); streamer: %s; Lag: %.2fs, HeartbeatLag: %.2fs, State: %s; ETA: %s",
		p.RowsCopied, rows, percent, p.Applied, p.Backlog, p.BacklogLimit, clock(s.total), clock(s.copying),
		escape.Line(p.Position), behind, behind, escape.Line(s.state()), s.eta(),
	)
}

// copied says that all rows are.
func (s status) copied() bool { return s.progress.Fraction >= 1 }

func (s status) state() string {
	switch {
	case s.postponed && len(s.gates) == 0:
		return "postponing cut-over"
	case len(s.gates) > 0:
		return "throttled, " + reason(s.gates[0])
	}
	return "migrating"
}

// least is the part of the rows before which nothing is told of the end.
const least = 0.01

func (s status) eta() string {
	p := s.progress
	switch {
	case s.copied():
		return "due"
	case p.Fraction < least || p.ETA < 0:
		return "N/A"
	}
	return clock(p.ETA)
}

// reason is why a run waits.
func reason(g event.Gate) string {
	p := speech.PauseOf(g)
	switch {
	case p.Kind == "paused":
		return "commanded by user"
	case p.Kind == "file":
		return "flag-file"
	case p.Kind == "query":
		return "throttle-query"
	case p.Kind == "http":
		return "http: " + p.Why
	case p.Kind == "max-load" && len(p.Loads) > 0:
		return fmt.Sprintf("max-load %s=%s >= %s", p.Loads[0].Variable, p.Loads[0].Now, p.Loads[0].Most)
	case p.Kind == "replica-lag" && p.Lag > 0:
		return fmt.Sprintf("%s replica-lag=%fs", p.Replica, p.Lag.Seconds())
	}
	return p.Why
}

// due says whether the line is to be printed in a second of the run: each one in the first minute
// and the last, then fewer.
func (s status) due() bool {
	seconds := int64(s.total / time.Second)
	left := time.Duration(1 << 62)
	if !s.copied() && s.progress.ETA >= 0 && s.progress.Fraction >= least {
		left = s.progress.ETA
	}
	switch {
	case seconds <= 60 || left <= time.Minute:
		return true
	case seconds <= 180 || left <= 3*time.Minute:
		return seconds%5 == 0
	}
	return seconds%30 == 0
}

// hint tells of the run what does not change, and of its settings. cfg is what holds now.
func (a *Asked) hint(place Place, tuned tuned, shadow string, settings operator.Settings) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "# "+format+"\n", escape.Args(args...)...) }
	here, _ := os.Hostname() // none: ""
	line("Migrating %s; Ghost table is %s", a.Table.Quoted(), a.Table.Sibling(shadow).Quoted())
	line("Migrating %s; inspecting %s; executing on %s", place.Primary, place.Inspected, here)
	line("Migration started at %s", a.Began.Format(time.RubyDate))
	line(
		"chunk-size: %s; max-lag-millis: %dms; dml-batch-size: %s; max-load: %s; critical-load: %s; nice-ratio: %f",
		tuned.values["chunk-size"], settings.Throttle.ReplicaLag.Milliseconds(), tuned.values["dml-batch-size"],
		tuned.values["max-load"], tuned.values["critical-load"], niceness(settings.Rest),
	)
	file := func(label, path string) {
		if path != "" {
			line("%s: %s %s", label, path, is(path))
		}
	}
	file("throttle-flag-file", a.said.text("throttle-flag-file"))
	file("throttle-additional-flag-file", a.said.text("throttle-additional-flag-file"))
	if query := settingOf("throttle-query", settings); query != "" {
		line("throttle-query: %s", query)
	}
	if n := len(tuned.replicas); n > 0 {
		line("throttle-control-replicas count: %d", n)
	}
	file("postpone-cut-over-flag-file", settingOf("cutover-when-gone", settings))
	file("panic-flag-file", a.said.text("panic-flag-file"))
	line("Serving on unix socket: %s", a.socketFile())
	if port := a.said.number("serve-tcp-port"); port > 0 {
		line("Serving on TCP port: %g", port)
	}
	return b.String()
}

// settingOf is the value of one of midstream run's settings, which must be one that there is.
func settingOf(name string, settings operator.Settings) string {
	s, _ := operator.SettingOf(name)
	return s.Get(settings)
}

// niceness is the ratio of rest to work of which the rest is this part.
func niceness(rest float64) float64 {
	if rest >= 1 {
		return 100
	}
	return rest / (1 - rest)
}

// is says that a file is there.
func is(path string) string {
	if _, err := os.Stat(path); err == nil {
		return "[set]"
	}
	return ""
}
