package summary

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"midstream/internal/engine/event"
	"midstream/internal/engine/throttle"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// OfStatus writes the state of a run.
func OfStatus(s socket.Status) string {
	var b strings.Builder
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-9s %s\n", label, humanize.Wrapped(text, 100, "            "))
		}
	}
	fmt.Fprintf(
		&b, "%s on %s (process %d, since %s)\n", schema.NameOf(s.Table).Argument(), escape.Line(s.Server), s.Process,
		s.Began.Local().Format(time.DateTime),
	)
	line("kind", escape.Line(s.Rehearsal))
	line("change", escape.Line(s.Alter))
	line("page", escape.Line(s.Page))
	if s.Into != "" {
		line("new name", schema.NameOf(s.Into).Argument()+" after the swap")
	}
	if len(s.Together) > 0 {
		line("together", inOneStep(namesOf(s.Together)))
	}
	if s.Undoes {
		text := "this run takes the last change back"
		if s.Follows {
			text = "this process follows the table until midstream undo  " + schema.NameOf(s.Table).Argument() + " takes the last change back"
		}
		line("undo", escape.Line(s.Reach.In(text)))
	}
	state := s.State
	if state == "held" {
		state = "on hold"
	}
	if s.Why != "" {
		state += ": " + strings.TrimPrefix(s.Why, s.State+" ")
	}
	table := schema.NameOf(s.Table).Argument()
	if s.State == "paused" && s.Since != nil {
		state += ", since " + s.Since.Local().Format(time.DateTime)
	}
	line("state", escape.Line(state))
	if s.State == "paused" || s.State == "stopped" {
		line("next", s.Reach.In("midstream resume  "+table+" lets the run go on"))
	}
	if e, is := record.EventOf(s.Throttled).(event.Throttled); is && len(e.Gates) > 0 && s.State != "paused" {
		line("waits", strings.TrimPrefix(humanize.Throttled(e), "waiting: "))
	}
	if e, is := record.EventOf(s.Blocked).(event.Blocked); is {
		for i, text := range humanize.BlockedBy(e) {
			line(map[bool]string{true: "blocked"}[i == 0], text)
		}
		line("next", s.Reach.In(humanize.Remedy(e.Run, e.Blockers)))
	}
	if e, is := record.EventOf(s.Progress).(event.Progress); is {
		if s.State == "paused" || s.State == "stopped" { // nobody knows when it goes on
			e.ETA, e.CopyRate, e.ApplyRate = -1, 0, 0
		}
		line("progress", humanize.Progress(e))
		if s.State == "running" && s.CopyShare == "100%" {
			if slowed := humanize.Slowed(e); slowed != "" {
				line("slower", s.Reach.In(slowed+limited(s, e.Deadline)))
			}
		}
		if e.Unfit != nil && e.Unfit.Rows > 0 {
			line("unfit", escape.Line(Unfit(e.Unfit.Rows, e.Unfit.Keys)))
		}
		line("deadline", strings.TrimPrefix(humanize.Deadline(e.Deadline, e.At), "deadline "))
	} else {
		line("phase", humanize.PhaseOf(event.Phase(s.Phase), s.Undoes))
	}
	if s.State != "held" && s.Held != "" {
		line("hold", escape.Line("the run will wait before it swaps: "+s.Held))
	}
	if s.CopyShare != "100%" {
		line("slower", s.Reach.In("the row copy works at most "+s.CopyShare+" of its time, until midstream throttle  "+table+" 100%"))
	}
	line("command", escape.Line(s.Command))
	line("socket", escape.Line(s.Socket))
	return b.String()
}

// limited is the limit by which the application slows the row copy down, with its reason, and the command that raises it.
func limited(s socket.Status, d event.Deadline) string {
	if !d.By.IsZero() && d.Factor > 0 && d.Factor != 1 {
		return fmt.Sprintf(". At most %s is allowed: the run has derived that limit from its deadline and max-slowdown=%s", escape.Line(d.Limit), escape.Line(s.Slowdown))
	}
	limit, err := throttle.ParseSlowdown(s.Slowdown)
	if err != nil { // of an earlier version
		return ""
	}
	more := throttle.Slowdown{Part: max(0.2, 2*limit.Part), Time: limit.Time}
	return fmt.Sprintf(". At most %s is allowed (max-slowdown); to allow more: midstream set  %s max-slowdown=%s", limit, schema.NameOf(s.Table).Argument(), more)
}

// namesOf are the names of tables as records have them.
func namesOf(tables []string) (names []schema.Name) {
	for _, table := range tables {
		names = append(names, schema.NameOf(table))
	}
	return names
}

// inOneStep names the other tables of a group.
func inOneStep(with []schema.Name) string { return "swapped in one step with " + schema.List(with) }

// Unfit names rows that the old definition refuses by their keys, of which it has some.
func Unfit(rows int64, keys []string) string {
	with := ", such as ("
	switch {
	case len(keys) == 0:
		return humanize.Count(rows)
	case rows == 1:
		with = ", with the key ("
	case rows == int64(len(keys)):
		with = ", with the keys ("
	}
	return humanize.Count(rows) + with + strings.Join(keys, "), (") + ")"
}

// OfSettings lists the settings of a run.
func OfSettings(s socket.Status, settings []socket.Setting) string {
	text := fmt.Sprintf("%s on %s\n", schema.NameOf(s.Table), escape.Line(s.Server))
	for _, s := range settings {
		text += fmt.Sprintf("  %-20s %-16s %s\n", escape.Args(s.Name, cmp.Or(s.Value, "-"), s.Range)...)
	}
	return text
}

// OfEntries is the list of histories, the newest first: at most limit of them, or all if limit is 0.
func OfEntries(entries []history.Entry, limit int) string {
	if len(entries) == 0 {
		return "No run has a history in this folder. The runs of midstream serve are listed by midstream queue.\n"
	}
	older := 0
	if limit > 0 && len(entries) > limit {
		older, entries = len(entries)-limit, entries[:limit]
	}
	lines := [][]string{{"WHEN", "RESULT", "TOOK", "TABLE", "SERVER", "CHANGE", "ID"}}
	for _, e := range entries {
		result, took := "running, or killed", ""
		if e.Result != nil {
			result = e.Result.Outcome
			if elapsed := e.Result.ElapsedMS.Duration(); elapsed >= time.Millisecond { // a refused run has not begun
				took = humanize.Span(elapsed)
			}
		}
		change := humanize.OneLine(e.Run.Alter, 60)
		if change == "" && e.Run.Undoes {
			change = "undo, or redo, of the last change"
		}
		lines = append(lines, []string{
			e.Run.Time().Local().Format("2006-01-02 15:04"), escape.Line(result), took, schema.NameOf(e.Run.Table).String(),
			escape.Line(e.Run.Server), change, escape.Line(e.Run.ID),
		})
	}
	widest := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widest[i] = max(widest[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		text := ""
		for i, cell := range line {
			text += cell + strings.Repeat(" ", widest[i]-utf8.RuneCountInString(cell)+2)
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	if older > 0 {
		fmt.Fprintf(&b, "%s: --limit=0 lists all\n", humanize.Plural(older, "older run"))
	}
	b.WriteString("The runs of midstream serve are listed by midstream queue.\n")
	return b.String()
}

// OfEnd reports how a run that was watched has ended.
func OfEnd(r record.Result) string {
	text := fmt.Sprintf("the run has ended: %s (exit code %d)", r.Outcome, r.ExitCode)
	if r.Left != "" {
		text += "; " + escape.Line(r.Left)
	}
	return text
}
