package tui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/progress"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
)

// finished is sent after the last event.
type finished struct{}

// printed is sent when the pending texts are printed.
type printed struct{}

// scrolled is a text that is printed above the lines.
type scrolled string

// model is what the lines show. It is a tea.Model.
type model struct {
	table    string
	width    int
	height   int // 0: not known
	phase    event.Phase
	undo     bool          // the run takes a change back
	oneStep  bool          // the run has one step only, which needs no number
	entered  []event.Phase // so far, in their order
	progress event.Progress
	most     int          // keys in the backlog so far: the backlog's bar is a part of it
	gates    []event.Gate // closed now
	blocked  *event.Blocked
	lock     *event.LockAttempt // the last one
	commands commanding
	finished bool
	pending  []string // to be printed, when what is being printed is
	printing bool
	bar      progress.Model
}

func newModel(table string) model {
	return model{table: table, width: 80, bar: progress.New(progress.WithoutPercentage(), progress.WithFillCharacters('█', '░'))}
}

// Init begins with nothing.
func (m model) Init() tea.Cmd { return nil }

// Update takes an event of the run or of the terminal.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch e := msg.(type) {
	case tea.WindowSizeMsg:
		if e.Width > 0 {
			m.width = e.Width
		}
		m.height = e.Height
	case event.Progress:
		m.progress, m.most = e, max(m.most, e.Backlog)
		if m.blocked != nil && !m.blocked.Lasts(e.At) {
			m.blocked = nil
		}
	case event.PhaseEntered:
		m.undo = e.Undo
		m.enter(e.Phase)
	case event.Blocked:
		m.blocked = &e
	case event.Throttled:
		m.gates = e.Gates
	case event.LockAttempt:
		m.lock = &e
	case commanding:
		m.commands = e
	case stopping:
		m.commands.stops = e
	case key:
		return m.press(e)
	case answered:
		if e.command == m.commands.doing {
			m.commands.doing = ""
		}
		if e.err != nil && m.commands.ctx.Err() == nil {
			return m.Update(scrolled(e.command + ": " + escape.Error(e.err)))
		}
	case finished:
		m.finished, m.blocked, m.gates = true, nil, nil
		return m.print()
	case scrolled:
		m.pending = append(m.pending, ansi.Wrap(string(e), m.width, " "))
		return m.print()
	case printed:
		m.printing = false
		return m.print()
	}
	return m, nil
}

func (m *model) enter(phase event.Phase) {
	m.phase = phase
	if phase == event.PhaseCheck { // another attempt
		m.entered, m.lock, m.gates = nil, nil, nil
	}
	if !slices.Contains(m.entered, phase) {
		m.entered = append(slices.Clone(m.entered), phase)
	}
	if phase == event.PhaseCutover || phase == event.PhaseLock {
		m.blocked = nil
	}
}

// print prints the pending texts, one command at a time, because commands run in any order.
func (m model) print() (tea.Model, tea.Cmd) {
	switch {
	case m.printing:
		return m, nil
	case len(m.pending) > 0:
		text := strings.Join(m.pending, "\n")
		m.pending, m.printing = nil, true
		return m, tea.Sequence(tea.Println(text), func() tea.Msg { return printed{} })
	case m.finished:
		return m, tea.Quit
	}
	return m, nil
}
