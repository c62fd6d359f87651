package tui

import (
	"context"
	"os"

	tea "charm.land/bubbletea/v2"
)

// Commands are what the keys of a screen do.
type Commands struct {
	// Do carries out a command: pause, resume, cutover or abort. The run's events report the result;
	// the screen shows its error.
	Do func(ctx context.Context, command string) error
	// Leave ends the display of a run of another process; nil in the run's own process.
	Leave func()
}

// key is a key that was pressed.
type key byte

// answered is sent when a command has ended.
type answered struct {
	command string
	err     error
}

// commanding is the part of the model for keys.
type commanding struct {
	Commands
	ctx      context.Context
	doing    string          // the command that is under way
	question string          // the command that is to be confirmed
	stops    map[byte]func() // what the keys do that answer the question of Ctrl-C; nil while it is not asked
}

// questions are asked before a command that cannot be undone.
var questions = map[string]string{
	"cutover": "[y/N]  Cut over now?",
	"abort":   "[y/N]  Abort, and remove what the run has created?",
}

// Obey takes commands by single keys of a terminal until Close, if the process is in its
// foreground. The terminal still sends signals for Ctrl-C and Ctrl-Z, but neither waits for the end
// of a line nor shows what is typed.
func (b *Screen) Obey(in *os.File, c Commands) {
	keyboard := listen(in, func(k byte) { b.program.Send(key(k)) })
	if keyboard == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.release = func() {
		cancel()
		keyboard.close()
	}
	b.obeys = true
	b.program.Send(commanding{Commands: c, ctx: ctx})
}

// stopping asks the question of Ctrl-C.
type stopping map[byte]func()

// AskStop asks what Ctrl-C means: k keeps the work, r removes it, and any other key continues. It returns false if no key would be
// heard, or if it asks already.
func (b *Screen) AskStop(answers map[byte]func()) bool {
	if !b.obeys || !b.asking.CompareAndSwap(false, true) {
		return false
	}
	answered := func(do func()) func() {
		return func() {
			b.asking.Store(false)
			if do != nil {
				do()
			}
		}
	}
	b.program.Send(stopping{'k': answered(answers['k']), 'r': answered(answers['r']), 0: answered(nil)})
	return true
}

// Keys hands over each key of a terminal, one at a time, until release is called; release is nil where there is no terminal. Ctrl-C still
// sends its signal.
func Keys(in *os.File, press func(key byte)) (release func()) {
	if keyboard := listen(in, press); keyboard != nil {
		return keyboard.close
	}
	return nil
}

// press takes a key.
func (m model) press(k key) (tea.Model, tea.Cmd) {
	asked := m.commands.question
	m.commands.question = ""
	if stops := m.commands.stops; stops != nil {
		m.commands.stops = nil
		do, known := stops[byte(k)]
		if !known {
			do = stops[0]
		}
		return m, func() tea.Msg { do(); return nil }
	}
	switch {
	case m.commands.Do == nil || m.finished:
	case asked != "" && (k == 'y' || k == 'Y'):
		return m.command(asked)
	case asked != "": // any other key is a no
	case k == 'p':
		return m.command("pause")
	case k == 'r':
		return m.command("resume")
	case k == 'c':
		m.commands.question = "cutover"
	case k == 'a':
		m.commands.question = "abort"
	case k == 'q' && m.commands.Leave != nil:
		m.commands.Leave()
	}
	return m, nil
}

// command carries out one command at a time. An abort may come in addition.
func (m model) command(name string) (tea.Model, tea.Cmd) {
	if m.commands.doing != "" && name != "abort" {
		return m, nil
	}
	m.commands.doing = name
	do, ctx := m.commands.Do, m.commands.ctx
	return m, func() tea.Msg { return answered{name, do(ctx, name)} }
}

// keysLine lists the keys, or asks the question; "" without keys.
func (m model) keysLine() string {
	c := m.commands
	switch {
	case c.Do == nil || m.finished:
		return ""
	case c.stops != nil:
		return bold.Render("stop     k: keep the work  r: remove it  any other key: continue")
	case c.question != "":
		return bold.Render("keys     " + questions[c.question])
	case c.doing != "":
		return dim.Render("keys     " + c.doing + " ...  a abort")
	}
	text := "keys     p pause  r resume  c cut over  a abort"
	if c.Leave != nil {
		text += "  q leave"
	}
	return dim.Render(text)
}
