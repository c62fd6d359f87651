package summary

import (
	"fmt"
	"strings"
	"time"

	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
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
	return escape.Line(text)
}

// ReadyOf is the state of a change that waits for its release.
func ReadyOf(r queue.Ready) string {
	if r.AgeMS == nil {
		return "ready, nothing was compared"
	}
	return "ready, compared " + humanize.Span(time.Duration(*r.AgeMS)*time.Millisecond) + " ago"
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
	for name, value := range c.Options {
		line("option", name+"="+value)
	}
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
