package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
)

var (
	bold = lipgloss.NewStyle().Bold(true)
	dim  = lipgloss.NewStyle().Faint(true)
)

// View draws the lines, as wide as the terminal is.
func (m model) View() tea.View {
	p := m.progress
	lines := []string{bold.Render(m.table) + "  " + humanize.Phase(m.phase) + dim.Render("  "+humanize.Span(p.Elapsed))}
	if rail := m.rail(); rail != "" {
		lines = append(lines, rail)
	}
	switch {
	case m.phase == event.PhasePrescan:
		lines = append(
			lines,
			m.barLine("prescan", humanize.ScannedFraction(p), fmt.Sprintf("%s of ~%s", humanize.Count(p.Scanned), humanize.Count(p.RowsTotal))),
		)
	case m.phase == event.PhaseNative:
		lines = append(lines, "server   "+humanize.Built(p))
	case p.RowsTotal > 0 && !before(m.phase, event.PhaseCopy):
		lines = append(lines, m.rowsLine(), m.changesLine())
		for _, line := range []string{m.applicationLine(), m.workLine()} {
			if line != "" {
				lines = append(lines, dim.Render(line))
			}
		}
	}
	lines = append(lines, m.waits()...)
	if line := m.keysLine(); line != "" {
		lines = append(lines, line)
	}
	if m.finished {
		lines = append(lines, "") // the renderer takes the last line away when it ends
	}
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, m.width, "…")
	}
	return tea.NewView(strings.Join(lines, "\n"))
}

// rail are the phases that were entered, and the most that comes of those behind them.
func (m model) rail() string {
	if len(m.entered) == 0 || m.width < 60 {
		return ""
	}
	var parts []string
	for _, p := range m.entered {
		if p == m.phase {
			parts = append(parts, bold.Render(escape.Line(string(p))))
		} else {
			parts = append(parts, dim.Render(escape.Line(string(p))))
		}
	}
	return "         " + strings.Join(parts, dim.Render(" › "))
}

// barLine is a bar with what is said beside it.
func (m model) barLine(label string, fraction float64, text string) string {
	return fmt.Sprintf("%-8s %s %s  %s", label, m.drawBar(fraction), humanize.Percent(fraction), text)
}

func (m model) drawBar(fraction float64) string {
	m.bar.SetWidth(min(max((m.width-9)/3, 8), 40))
	return m.bar.ViewAs(fraction)
}

func (m model) rowsLine() string {
	p := m.progress
	switch {
	case m.phase == event.PhaseIndex:
		return "indexes  " + humanize.Built(p)
	case m.phase == event.PhaseVerify:
		return m.barLine("verify", humanize.VerifiedFraction(p), fmt.Sprintf("%s of ~%s", humanize.Count(p.Verified), humanize.Count(p.RowsTotal)))
	case p.Fraction >= 1:
		return fmt.Sprintf("rows     %s %s copied", m.drawBar(p.Fraction), humanize.Count(p.RowsCopied))
	}
	return m.barLine(
		"rows", p.Fraction,
		fmt.Sprintf("%s of ~%s  %s/s  %s", humanize.Count(p.RowsCopied), humanize.Count(p.RowsTotal), humanize.Rate(p.CopyRate), humanize.ETA(p)),
	)
}

func (m model) changesLine() string {
	p := m.progress
	fraction := 0.0
	if m.most > 0 {
		fraction = float64(p.Backlog) / float64(m.most)
	}
	text := fmt.Sprintf(
		"backlog  %s %s of %s at most  %s/s  delay %s", m.drawBar(fraction), humanize.Count(p.Backlog),
		humanize.Plural(m.most, "key"), humanize.Rate(p.ApplyRate), humanize.Span(p.CaptureDelay),
	)
	if p.ReplicaLag >= 0 {
		text += "  replicas " + humanize.Span(p.ReplicaLag)
	}
	return text
}

// applicationLine is what the application feels; "" if that is not known, or nobody is there.
func (m model) applicationLine() string {
	p := m.progress
	if p.Statements <= 0 {
		return ""
	}
	text := fmt.Sprintf("app      %s statements/s", humanize.Rate(p.Statements))
	if p.StatementTime > 0 {
		text += ", " + humanize.Span(p.StatementTime) + " each"
	}
	if p.StatementTimeAlone > 0 {
		text += ", " + humanize.Span(p.StatementTimeAlone) + " without this run"
	}
	if p.Slowdown >= 0 {
		text += fmt.Sprintf(" · %.1f %% slower", 100*p.Slowdown)
	}
	return text
}

// workLine is what the run does.
func (m model) workLine() string {
	p := m.progress
	var parts []string
	if m.phase == event.PhaseCopy {
		parts = append(parts, fmt.Sprintf("%.2g workers, %s a chunk", p.Workers, humanize.Plural(p.ChunkRows, "row")))
	}
	parts = append(parts, humanize.Count(p.Captured)+" changes", humanize.Count(p.Applied)+" applied")
	if p.Dropped+p.Merged > 0 {
		parts = append(parts, humanize.Count(p.Dropped)+" ahead of the copy", humanize.Count(p.Merged)+" merged")
	}
	if p.Retries > 0 {
		parts = append(parts, "tried again "+humanize.Plural(p.Retries, "time"))
	}
	return "work     " + strings.Join(parts, " · ")
}

// mostShown is how many reasons of one kind have a line.
const mostShown = 3

// waits are for what, and for whom, the run waits.
func (m model) waits() (lines []string) {
	for _, g := range m.gates[:min(mostShown, len(m.gates))] {
		lines = append(lines, "waiting  "+escape.Line(g.Why))
	}
	if m.blocked != nil {
		for _, b := range m.blocked.Blockers[:min(mostShown, len(m.blocked.Blockers))] {
			lines = append(lines, "blocked  "+humanize.Blocker(b))
		}
	}
	if m.lock != nil && !m.lock.Granted && (m.phase == event.PhaseCutover || m.phase == event.PhaseLock || m.phase == event.PhaseCatchUp) {
		lines = append(
			lines,
			fmt.Sprintf("lock     attempt %d was not granted within %s, and withdrawn", m.lock.Number, humanize.Span(m.lock.Waited)),
		)
	}
	return lines
}

// before says that a phase comes before another.
func before(a, b event.Phase) bool {
	for _, p := range event.Phases() {
		switch p {
		case b:
			return false
		case a:
			return true
		}
	}
	return true // "": none was entered
}
