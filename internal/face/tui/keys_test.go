package tui

import (
	"context"
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// pressed presses keys one after the other, carries out what they have begun, and returns the
// commands and the lines in the end.
func pressed(t *testing.T, keys string, fails error) (done []string, text string) {
	t.Helper()
	var m tea.Model = newModel("shop.orders")
	left := func() { done = append(done, "left") }
	do := func(_ context.Context, command string) error { done = append(done, command); return fails }
	m, _ = m.Update(commanding{Commands: Commands{Do: do, Leave: left}, ctx: t.Context()})
	for i := range len(keys) {
		var begun tea.Cmd
		if m, begun = m.Update(key(keys[i])); begun != nil {
			m, _ = m.Update(begun())
		}
	}
	return done, ansi.Strip(m.View().Content)
}

// TestKeys: what can't be taken back is asked for, and any key but y is a no.
func TestKeys(t *testing.T) {
	for keys, want := range map[string]string{
		"p": "pause", "r": "resume", "pr": "pause resume", "q": "left",
		"ay": "abort", "aY": "abort", "an": "", "aa": "", "aay": "", "anp": "pause", "y": "",
		"cy": "cutover", "cq": "", "c\rp": "pause", "xzPRCAQ": "",
	} {
		if done, _ := pressed(t, keys, nil); strings.Join(done, " ") != want {
			t.Errorf("%q does %q, want %q", keys, done, want)
		}
	}
	for keys, want := range map[string]string{"": "p pause  r resume  c cut over  a abort  q leave", "c": "[y/N]  Cut over now?",
		"a": "[y/N]  Abort, and remove what the run has created?", "an": "p pause"} {
		if _, text := pressed(t, keys, nil); !strings.Contains(text, want) {
			t.Errorf("%q shows no %q:\n%s", keys, want, text)
		}
	}
}

// TestKeysOneAtATime: while a command is under way only abort comes beside it, and an error is told.
func TestKeysOneAtATime(t *testing.T) {
	var m tea.Model = newModel("shop.orders")
	var done []string
	do := func(_ context.Context, command string) error {
		done = append(done, command)
		return errors.New("the run is gone")
	}
	m, _ = m.Update(commanding{Commands: Commands{Do: do}, ctx: t.Context()})
	m, pause := m.Update(key('p'))
	m, second := m.Update(key('r'))
	m, _ = m.Update(key('a'))
	m, abort := m.Update(key('y'))
	if second != nil || pause == nil || abort == nil {
		t.Fatal("not one at a time")
	}
	m, _ = m.Update(pause())
	if text := ansi.Strip(m.View().Content); !strings.Contains(text, "abort ...") {
		t.Errorf("it is not seen that the abort is under way:\n%s", text)
	}
	m, told := m.Update(abort())
	if told != nil || len(m.(model).pending) == 0 && !m.(model).printing {
		t.Error("the error is not told")
	}
	if strings.Join(done, " ") != "pause abort" {
		t.Errorf("%q was done", done)
	}
}
