package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"charm.land/bubbles/v2/progress"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"midstream/internal/event"
	"midstream/internal/words"
)

// bars is the display on a terminal: a few lines that are drawn anew where they stand,
// and what happens scrolls away above them. It reads no input and leaves Ctrl-C to the
// process.
type bars struct {
	program *tea.Program
	out     io.Writer
	done    chan struct{}
	quiet   bool
}

// newBars begins to draw. table is what the lines are about.
func newBars(out *os.File, table string, quiet, colors bool) *bars {
	options := []tea.ProgramOption{
		tea.WithOutput(out), tea.WithInput(nil), tea.WithoutSignalHandler(), tea.WithFPS(20),
	}
	if !colors {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	b := &bars{program: tea.NewProgram(newScreen(table), options...), out: out, done: make(chan struct{}), quiet: quiet}
	go func() {
		defer close(b.done)
		// A terminal that went away ends the drawing, not the migration.
		_, _ = b.program.Run()
	}()
	return b
}

func (b *bars) show(e event.Event) {
	switch e := e.(type) {
	case event.Progress, event.PhaseEntered:
		b.program.Send(e)
	case event.Blocked:
		b.program.Send(e)
		b.print(e.At, words.Blocked(e))
	default:
		if at, text, matters := words.Happening(e); text != "" && (matters || !b.quiet) {
			b.print(at, text)
		}
	}
}

func (b *bars) print(at time.Time, text string) {
	b.program.Send(scrolled(at.Local().Format("15:04:05") + "  " + text))
}

func (b *bars) close() {
	b.program.Send(finished{}) // it quits when all is printed
	<-b.done
}

// abandon shows the cursor again, in case the program has no time to.
func (b *bars) abandon() {
	b.program.Kill()
	fmt.Fprint(b.out, ansi.ShowCursor+"\r\n")
}

// finished says that nothing more will come.
type finished struct{}

// printed says that what was to be printed stands above the lines.
type printed struct{}

// scrolled is a text that is printed above the lines.
type scrolled string

// screen is what the lines show. It is a tea.Model.
type screen struct {
	table    string
	width    int
	phase    event.Phase
	progress event.Progress
	most     int // keys in the backlog so far: the backlog's bar is a part of it
	blocked  *event.Blocked
	finished bool
	pending  []string // to be printed, when what is being printed is
	printing bool
	bar      progress.Model
}

func newScreen(table string) screen {
	return screen{table: table, width: 80, bar: progress.New(progress.WithoutPercentage(), progress.WithFillCharacters('█', '░'))}
}

// Init begins with nothing.
func (s screen) Init() tea.Cmd { return nil }

// Update takes an event of the run or of the terminal.
func (s screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		if m.Width > 0 {
			s.width = m.Width
		}
	case event.Progress:
		s.progress, s.most = m, max(s.most, m.Backlog)
	case event.PhaseEntered:
		s.phase = m.Phase
		if m.Phase == event.PhaseCutover || m.Phase == event.PhaseLock {
			s.blocked = nil
		}
	case event.Blocked:
		s.blocked = &m
	case finished:
		s.finished, s.blocked = true, nil
		return s.print()
	case scrolled:
		s.pending = append(s.pending, ansi.Wrap(string(m), s.width, " "))
		return s.print()
	case printed:
		s.printing = false
		return s.print()
	}
	return s, nil
}

// print prints what is pending, one thing after the other: commands run side by side, in any order.
func (s screen) print() (tea.Model, tea.Cmd) {
	switch {
	case s.printing:
		return s, nil
	case len(s.pending) > 0:
		text := strings.Join(s.pending, "\n")
		s.pending, s.printing = nil, true
		return s, tea.Sequence(tea.Println(text), func() tea.Msg { return printed{} })
	case s.finished:
		return s, tea.Quit
	}
	return s, nil
}

// View draws the lines, as wide as the terminal is.
func (s screen) View() tea.View {
	p := s.progress
	bold, dim := lipgloss.NewStyle().Bold(true), lipgloss.NewStyle().Faint(true)
	lines := []string{bold.Render(s.table) + "  " + words.Phase(s.phase) + dim.Render("  "+words.Span(p.Elapsed))}
	if s.phase == event.PhasePrescan {
		lines = append(lines, fmt.Sprintf("prescan  %s %s  %s of ~%s", s.drawBar(words.ScannedFraction(p)), words.Percent(words.ScannedFraction(p)), words.Count(p.Scanned), words.Count(p.RowsTotal)))
	}
	if s.phase == event.PhaseNative {
		lines = append(lines, words.Build("server", p))
	} else if p.RowsTotal > 0 && !before(s.phase, event.PhaseCopy) {
		lines = append(lines, s.rowsLine(), s.changesLine(), dim.Render("         "+s.footLine()))
	}
	if s.blocked != nil {
		for _, b := range s.blocked.Blockers[:min(3, len(s.blocked.Blockers))] {
			lines = append(lines, "blocked  "+words.Blocker(b))
		}
	}
	if s.finished {
		lines = append(lines, "") // the renderer takes the last line away when it ends
	}
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, s.width, "…")
	}
	return tea.NewView(strings.Join(lines, "\n"))
}

func (s screen) drawBar(fraction float64) string {
	s.bar.SetWidth(min(max((s.width-9)/3, 8), 40))
	return s.bar.ViewAs(fraction)
}

func (s screen) rowsLine() string {
	p := s.progress
	if s.phase == event.PhaseIndex {
		return words.Build("indexes", p)
	}
	if s.phase == event.PhaseVerify {
		return fmt.Sprintf("verify   %s %s  %s of ~%s", s.drawBar(words.VerifiedFraction(p)), words.Percent(words.VerifiedFraction(p)), words.Count(p.Verified), words.Count(p.RowsTotal))
	}
	text := fmt.Sprintf(" %s  %s of ~%s", words.Percent(p.Fraction), words.Count(p.RowsCopied), words.Count(p.RowsTotal))
	if p.Fraction >= 1 {
		text = fmt.Sprintf(" %s copied", words.Count(p.RowsCopied))
	} else {
		text += fmt.Sprintf("  %s/s", words.Rate(p.CopyRate))
	}
	return "rows     " + s.drawBar(p.Fraction) + text
}

func (s screen) changesLine() string {
	p := s.progress
	fraction := 0.0
	if s.most > 0 {
		fraction = float64(p.Backlog) / float64(s.most)
	}
	return fmt.Sprintf("backlog  %s %s of %s at most  %s/s", s.drawBar(fraction), words.Count(p.Backlog), words.Plural(s.most, "key"), words.Rate(p.ApplyRate))
}

func (s screen) footLine() string {
	p := s.progress
	parts := []string{words.ETA(p), "delay " + words.Span(p.CaptureDelay), words.Count(p.Captured) + " changes", words.Count(p.Applied) + " applied"}
	if p.Dropped+p.Merged > 0 {
		parts = append(parts, words.Count(p.Dropped)+" ahead of the copy", words.Count(p.Merged)+" merged")
	}
	if p.Retries > 0 {
		parts = append(parts, words.Plural(p.Retries, "retry"))
	}
	return strings.Join(parts, " · ")
}

// phases are in their order.
var phases = []event.Phase{event.PhaseCheck, event.PhaseNative, event.PhaseShadow, event.PhasePrescan, event.PhaseStart, event.PhaseCopy, event.PhaseIndex,
	event.PhaseCatchUp, event.PhaseVerify, event.PhaseHold, event.PhaseCutover, event.PhaseLock, event.PhaseCleanup, event.PhaseDone}

// before says that a phase comes before another.
func before(a, b event.Phase) bool {
	for _, p := range phases {
		switch p {
		case b:
			return false
		case a:
			return true
		}
	}
	return true // "": none was entered
}
