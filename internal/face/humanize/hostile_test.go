package humanize

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
)

// hostile is a text that a terminal, a log or a page would obey.
const hostile = "x\x1b]0;owned\x07\r\nFORGED line\u009b31m\u202e<script>|`y` 中文 é\xff"

// TestL9_NoEventIsObeyed: what people are told of an event has no character of others that a
// terminal would obey, and no line that others have begun.
func TestL9_NoEventIsObeyed(t *testing.T) {
	b := event.Blocker{
		User:      hostile,
		Host:      hostile,
		Command:   hostile,
		Statement: hostile,
		Table:     hostile,
		Why:       hostile,
		Lock:      hostile,
		Role:      event.Role(hostile),
		Program:   hostile,
	}
	for _, e := range []event.Event{
		event.Note{Text: hostile}, event.Resumed{Text: hostile}, event.Controlled{Command: hostile, By: hostile, Text: hostile},
		event.Blocked{Run: hostile + "." + hostile, Blockers: []event.Blocker{{Statement: hostile}, {Age: time.Minute}}}, event.Killed{Blocker: b},
		event.Throttled{Gates: []event.Gate{{Name: hostile, Why: hostile}, {Why: hostile}}},
		event.Finding{Kind: hostile, Name: hostile, What: hostile, Keys: []string{hostile, hostile}, Query: hostile, Fix: hostile},
		event.Mismatch{Key: hostile, Column: hostile, Expected: hostile,
			Found: hostile}, event.Mismatch{Key: hostile, Expected: hostile, Found: hostile},
	} {
		_, text, _ := Happening(e)
		seen(t, text)
	}
	for _, p := range []event.Phase{event.PhaseIndex, event.PhaseNative} {
		seen(t, Progress(event.Progress{Phase: p, BuildStep: hostile}))
	}
	seen(t, Phase(event.Phase(hostile)))
	seen(t, OneLine(hostile, 200))
	seen(t, Wrapped(hostile, 20, "  "))
}

func seen(t *testing.T, text string) {
	t.Helper()
	if text != escape.Text(text) || strings.Contains(text, "\t") {
		t.Errorf("a terminal would obey %q", text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "FORGED") {
			t.Errorf("others have begun a line of %q", text)
		}
	}
	if !strings.Contains(text, "中文") || !strings.Contains(text, "é") {
		t.Errorf("letters are lost in %q", text)
	}
}
