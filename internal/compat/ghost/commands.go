package ghost

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"midstream/internal/engine/operator"
	"midstream/internal/mysql/escape"
)

// command is one that a run obeys.
type command struct {
	names []string
	about string // "" of one that is only known by another name
	// obey does it. arg is "" where there is none, and "?" where only the value is wanted. shown
	// says that the hints and the status follow.
	obey func(s *server, ctx context.Context, arg string) (answer string, shown bool, err error)
}

// commands lists them.
func commands() []command {
	return []command{
		{[]string{"status", "info"}, "status and settings of the run", (*server).status},
		{[]string{"sup"}, "status of the run, in one line", (*server).sup},
		{[]string{"coordinates"}, "the place in the binlog up to which it was received", (*server).coordinates},
		{[]string{"applier"}, "the server that is changed", (*server).applier},
		{[]string{"inspector"}, "the server that was named", (*server).inspector},
		{[]string{"chunk-size"}, "=<rows>: no effect", kept("chunk-size")},
		{[]string{"dml-batch-size"}, "=<rows>: no effect", kept("dml-batch-size")},
		{[]string{"nice-ratio"}, "=<ratio> of rest to work of the row copy", (*server).nice},
		{[]string{"max-lag-millis"}, "=<millis> that a replica may be behind", (*server).lag},
		{[]string{"max-load"}, "=<name=most,...>: status variables above which the run waits", (*server).maxLoad},
		{[]string{"critical-load"}, "=<name=most,...>: status variables above which it ends", (*server).criticalLoad},
		{[]string{"throttle-query"}, "=<query>: the run waits while its value is above 0", setting("throttle-query")},
		{[]string{"throttle-http"}, "=<url>: the run waits while it answers no 2xx", setting("throttle-url")},
		{[]string{"throttle-control-replicas"}, "=<host:port,...>: replicas to watch", (*server).controlReplicas},
		{[]string{"throttle", "pause", "suspend"}, "have the run wait", (*server).throttle},
		{[]string{"no-throttle", "unthrottle", "resume", "continue"}, "let the run continue", (*server).unthrottle},
		{[]string{"postpone-cut-over-flag-file"}, "=<path>: the swap waits while the file is there", (*server).postponeBy},
		{[]string{"unpostpone", "no-postpone", "cut-over"}, "[=<table>] let the swap go", (*server).unpostpone},
		{[]string{"panic"}, "[=<table>] end the run", (*server).panics},
		{[]string{"help"}, "this list; ? in place of a value asks for the one that holds", (*server).help},
	}
}

// throttleHint is what who has a run wait should know.
const throttleHint = "# Note: you may only throttle for as long as your binary logs are not purged\n"

// obey does what a line says, and returns the answer.
func (s *server) obey(ctx context.Context, line string) string {
	name, arg, _ := strings.Cut(line, "=")
	name, arg = strings.TrimSpace(name), strings.TrimSpace(arg)
	if unquoted, err := strconv.Unquote(arg); err == nil {
		arg = unquoted
	}
	for _, c := range commands() {
		for _, n := range c.names {
			if n != name {
				continue
			}
			err := s.run.Hooks.call(ctx, hookCommand, "GH_OST_COMMAND='"+name+"'")
			var answer string
			var shown bool
			if err == nil {
				answer, shown, err = c.obey(s, ctx, arg)
			}
			if err != nil {
				return s.speaker.log.speech.Of(complaint(err)) + "\n"
			}
			if shown {
				answer += s.speaker.stands(true)
			}
			return answer
		}
	}
	return "Unknown command: " + name + "\n"
}

// complaint is why a command was not obeyed, and what to do.
func complaint(err error) string {
	var notNow *operator.NotNow
	var bad *operator.BadSetting
	text, next := escape.Error(err), ""
	switch {
	case errors.As(err, &notNow):
		next = notNow.Next
	case errors.As(err, &bad):
		text, next = "--"+text, bad.Next // it begins with the name of a flag
	}
	if next == "" {
		return text
	}
	return text + "; " + next
}

// refresh looks how far the run is now: what was told of it may be a second old. It is not for the
// run's own goroutines.
func (s *Speaker) refresh() {
	s.mu.Lock()
	now := s.now
	s.mu.Unlock()
	p, gates, at := now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if at && p.At.After(s.status.progress.At) {
		s.status.progress, s.status.gates = p, gates
	}
}

// stands tells how the run stands, with the hints or without.
func (s *Speaker) stands(hints bool) string {
	s.refresh()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick(time.Now())
	text := s.status.line() + "\n"
	if hints {
		text = s.hintText() + text
	}
	return text
}

func (s *server) status(context.Context, string) (string, bool, error) { return "", true, nil }

func (s *server) sup(context.Context, string) (string, bool, error) {
	return s.speaker.stands(false), false, nil
}

func (s *server) help(context.Context, string) (string, bool, error) {
	var b strings.Builder
	b.WriteString("available commands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "%-40s # %s\n", strings.Join(c.names, "|"), c.about)
	}
	return b.String(), false, nil
}

func (s *server) coordinates(context.Context, string) (string, bool, error) {
	s.speaker.refresh()
	s.speaker.mu.Lock()
	defer s.speaker.mu.Unlock()
	return s.speaker.status.progress.Position + "\n", false, nil
}

func (s *server) applier(context.Context, string) (string, bool, error) {
	s.speaker.mu.Lock()
	defer s.speaker.mu.Unlock()
	version := ""
	if s.speaker.plan != nil {
		version = ", Version: " + s.speaker.plan.Server.Version.String()
	}
	return "Host: " + s.speaker.place.Primary + version + "\n", false, nil
}

func (s *server) inspector(context.Context, string) (string, bool, error) {
	s.speaker.mu.Lock()
	defer s.speaker.mu.Unlock()
	return "Host: " + s.speaker.place.Inspected + "\n", false, nil
}

// question asks for a value.
const question = "?"

// kept is a command that has no effect but on what is told.
func kept(flag string) func(s *server, ctx context.Context, arg string) (string, bool, error) {
	return func(s *server, _ context.Context, arg string) (string, bool, error) {
		s.speaker.mu.Lock()
		defer s.speaker.mu.Unlock()
		if arg == question {
			return s.speaker.tuned.values[flag] + "\n", false, nil
		}
		if _, err := strconv.Atoi(arg); err != nil {
			return "", false, fmt.Errorf("%s=%s: must be a whole number", flag, arg)
		}
		s.speaker.tuned.values[flag] = arg
		return "# " + flag + " has no effect\n", true, nil
	}
}

// value is what holds of a setting of midstream run.
func (s *server) value(name string) string { return settingOf(name, s.run.Control.Settings()) }

// set changes settings of midstream run.
func (s *server) set(ctx context.Context, values map[string]string) (string, bool, error) {
	if err := s.run.Control.Set(ctx, values); err != nil {
		return "", false, err
	}
	return "", true, nil
}

// setting is a command that changes one of midstream run's.
func setting(name string) func(s *server, ctx context.Context, arg string) (string, bool, error) {
	return func(s *server, ctx context.Context, arg string) (string, bool, error) {
		if arg == question {
			return s.value(name) + "\n", false, nil
		}
		_, shown, err := s.set(ctx, map[string]string{name: arg})
		return throttleHint, shown, err
	}
}

func (s *server) nice(ctx context.Context, arg string) (string, bool, error) {
	if arg == question {
		return fmt.Sprintf("%f\n", niceness(s.run.Control.Settings().Rest)), false, nil
	}
	ratio, err := strconv.ParseFloat(arg, 64)
	if err != nil || ratio < 0 || ratio > 100 {
		return "", false, errors.New("nice-ratio is a number from 0 to 100")
	}
	return s.set(ctx, map[string]string{"copy-share": copyShare(ratio)})
}

// copyShare is the share of its time in which the row copy works, of a ratio of rest to work.
func copyShare(ratio float64) string { return fmt.Sprintf("%.0f%%", math.Max(1, 100/(1+ratio))) }

func (s *server) lag(ctx context.Context, arg string) (string, bool, error) {
	if arg == question {
		return fmt.Sprintf("%d\n", s.run.Control.Settings().Throttle.ReplicaLag.Milliseconds()), false, nil
	}
	millis, err := strconv.Atoi(arg)
	if err != nil || millis < 0 {
		return "", false, errors.New("max-lag-millis is a number of milliseconds")
	}
	return s.set(ctx, map[string]string{"max-replica-lag": lagOf(float64(millis))})
}

// lagOf is the least that is taken for a number of milliseconds.
func lagOf(millis float64) string {
	return (time.Duration(max(100, millis)) * time.Millisecond).String()
}

func (s *server) maxLoad(ctx context.Context, arg string) (string, bool, error) {
	return s.load(ctx, "max-load", arg)
}

func (s *server) criticalLoad(ctx context.Context, arg string) (string, bool, error) {
	return s.load(ctx, "critical-load", arg)
}

// load changes what the command line said of one kind of load.
func (s *server) load(ctx context.Context, flag, arg string) (string, bool, error) {
	s.speaker.mu.Lock()
	values := s.speaker.tuned.values
	before := values[flag]
	if arg == question {
		s.speaker.mu.Unlock()
		return before + "\n", false, nil
	}
	values[flag] = arg
	most, critical := s.speaker.asked.loads(values["max-load"], values["critical-load"])
	s.speaker.mu.Unlock()
	answer, shown, err := s.set(ctx, map[string]string{"max-load": most, "critical-load": critical})
	if err != nil {
		s.speaker.mu.Lock()
		values[flag] = before
		s.speaker.mu.Unlock()
	}
	return answer, shown, err
}

func (s *server) controlReplicas(ctx context.Context, arg string) (string, bool, error) {
	s.speaker.mu.Lock()
	place := s.speaker.place
	before := strings.Join(s.speaker.tuned.replicas, ",") + "\n"
	s.speaker.mu.Unlock()
	if arg == question {
		return before, false, nil
	}
	replicas, err := addresses(arg)
	if err != nil {
		return "", false, err
	}
	all := replicas
	if place.Inspected != place.Primary {
		all = append(slices.Clone(replicas), place.Inspected)
	}
	if err := s.run.Follow(ctx, all); err != nil {
		return "", false, err
	}
	s.speaker.mu.Lock()
	defer s.speaker.mu.Unlock()
	s.speaker.tuned.replicas = replicas
	return strings.Join(replicas, ",") + "\n", true, nil
}

// named fails where a command names another table, or must name this one and does not.
func (s *server) named(command, arg string, must bool) error {
	table := s.speaker.asked.Table.Table
	switch {
	case arg == "" && must:
		return fmt.Errorf("'%s' must name the table: %[1]s=%s", command, table)
	case arg != "" && arg != table:
		return fmt.Errorf("'%s' names %s, and this run is on %s: nothing is done", command, arg, table)
	}
	return nil
}

// by says who commands.
const by = "gh-ost's socket"

func (s *server) throttle(ctx context.Context, arg string) (string, bool, error) {
	if err := s.named("throttle", arg, false); err != nil {
		return "", false, err
	}
	if s.run.Control.Paused() == nil {
		if _, err := s.run.Control.Pause(ctx, by); err != nil {
			return "", false, err
		}
	}
	return throttleHint, true, nil
}

func (s *server) unthrottle(_ context.Context, arg string) (string, bool, error) {
	if err := s.named("no-throttle", arg, false); err != nil {
		return "", false, err
	}
	if s.run.Control.Paused() != nil {
		if err := s.run.Control.Resume(); err != nil {
			return "", false, err
		}
	}
	return "", true, nil
}

func (s *server) postponeBy(ctx context.Context, arg string) (string, bool, error) {
	if arg == question {
		return s.value("cutover-when-gone") + "\n", false, nil
	}
	if err := makeFile(arg); err != nil {
		return "", false, err
	}
	return s.set(ctx, map[string]string{"cutover-when-gone": arg})
}

func (s *server) unpostpone(ctx context.Context, arg string) (string, bool, error) {
	if err := s.named("unpostpone", arg, s.speaker.asked.said.on("force-named-cut-over")); err != nil {
		return "", false, err
	}
	s.speaker.mu.Lock()
	s.speaker.tick(time.Now())
	postponed := s.speaker.status.postponed
	s.speaker.mu.Unlock()
	if !postponed {
		return "You may only invoke this when gh-ost is actively postponing migration. At this time it is not.\n", false, nil
	}
	if _, err := s.run.Control.CutOver(ctx, true); err != nil {
		return "", false, err
	}
	return "Unpostponed\n", true, nil
}

func (s *server) panics(_ context.Context, arg string) (string, bool, error) {
	if err := s.named("panic", arg, s.speaker.asked.said.on("force-named-panic")); err != nil {
		return "", false, err
	}
	s.run.End("'panic', by " + by)
	return "the run ends\n", false, nil
}
