package summary

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/units"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/audit"
	"midstream/internal/ops/queue"
)

// ChangeLine writes the state of a change.
func ChangeLine(c queue.Change) string {
	text := fmt.Sprintf("%-9s %s  %s on %s", c.State, c.ID, c.Named(), c.Server)
	if c.Began != nil && c.State == queue.StateRunning {
		text += ", since " + humanize.Span(time.Since(*c.Began))
	}
	why := c.Why
	if c.Ready != nil {
		text, why = text+", "+ReadyOf(*c.Ready), strings.TrimPrefix(why, "ready, and ")
	}
	if why != "" {
		text += ": " + why
	}
	if c.State == queue.StateProposed && c.Next != "" {
		text += "; next: " + c.Next
	}
	return escape.Line(text)
}

// ReadyOf is the state of a change that waits for its release.
func ReadyOf(r queue.Ready) string {
	if r.AgeMS == nil {
		return "ready, nothing was compared"
	}
	return "ready, compared " + humanize.Span(time.Duration(*r.AgeMS)*time.Millisecond) + " ago"
}

// StartOf is what bounds when a change begins, copies and swaps, and its place in the order; empty if nothing does.
func StartOf(c queue.Change) (list []string) {
	if c.NotBefore != nil {
		list = append(list, "not before "+units.Minute(*c.NotBefore))
	}
	for _, bound := range [][2]string{{"begins", c.Window}, {"copies", c.Options["copy-window"]}, {"cuts over", c.Options["cutover-window"]}} {
		if bound[1] != "" {
			list = append(list, bound[0]+" only "+escape.Line(bound[1]))
		}
	}
	if c.Priority != 0 {
		list = append(list, fmt.Sprintf("priority %d", c.Priority))
	}
	return list
}

// EntryWho is who did what an entry of the journal has, and from where; "" for a state that the service noted.
func EntryWho(e audit.Entry) string {
	if e.Action == "" {
		return ""
	}
	text := "by " + cmp.Or(e.Who, "no name")
	if e.From != "" {
		text += " from " + e.From
	}
	return escape.Line(text)
}

// EntryMore is what an entry has beyond the person, the change and the state; "" for nothing.
func EntryMore(e audit.Entry) (text string) {
	for _, more := range []string{e.Why, e.Detail, e.Error} {
		if more != "" {
			text += ": " + more
		}
	}
	return escape.Line(text)
}

// OfChange writes all that is known of a change, but for its line.
func OfChange(c queue.Change) string {
	var b strings.Builder
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-9s %s\n", label, humanize.Wrapped(text, 100, "            "))
		}
	}
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.Local().Format(time.DateTime)
	}
	line("change", c.Statement)
	for _, name := range slices.Sorted(maps.Keys(c.Options)) {
		line("option", name+"="+c.Options[name])
	}
	line("start", strings.Join(StartOf(c), "; "))
	line("undoes", c.Undoes)
	line("after", strings.Join(c.After, ", "))
	line("submitted", at(&c.Submitted)+" by "+c.SubmittedBy)
	if c.Approval != nil {
		line("approved", at(&c.Approval.At)+" by "+c.Approval.By)
	}
	line("began", at(c.Began))
	line("ended", at(c.Ended))
	line("history", c.History)
	if c.Undo != nil {
		line("undo", strings.TrimPrefix(c.Undo.Text, "undo: "))
		for _, text := range c.Undo.Warns {
			line("warning", text)
		}
	}
	for _, t := range c.Results {
		line("table", schema.NameOf(t.Table).String()+": "+t.State)
	}
	for _, was := range c.Attempts {
		line("attempt", fmt.Sprintf("%d, by %s: %s%s", was.Number, was.By, attemptEnd(was), strings.TrimSuffix(": "+was.Why, ": ")))
	}
	if c.AgainBy != "" {
		line("attempt", fmt.Sprintf("%d, by %s: %s", c.Attempt, c.AgainBy, c.State))
	}
	b.WriteString(UnfitOf(c))
	line("next", c.Next)
	return b.String()
}

// attemptEnd is how an attempt has ended, and when.
func attemptEnd(was queue.Attempt) string {
	text := string(was.State)
	if was.ExitCode != nil {
		text += fmt.Sprintf(" (exit code %d)", *was.ExitCode)
	}
	if was.Ended != nil {
		text += " at " + was.Ended.Local().Format(time.DateTime)
	}
	return text
}

// UnfitOf lists the rows because of which a change has ended, by reason, as its run does; "" if there are none.
func UnfitOf(c queue.Change) (text string) {
	for _, found := range c.Unfit {
		text += "  " + humanize.Finding(found.Found()) + "\n"
	}
	return text
}
