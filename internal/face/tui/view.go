package tui

import (
	"fmt"
	"slices"
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
	lines := []string{bold.Render(m.table) + "  " + humanize.Headline(m.phase, m.undo) + dim.Render("  "+humanize.Span(p.Elapsed))}
	if rail := m.rail(); rail != "" {
		lines = append(lines, rail)
	}
	switch {
	case m.phase == event.PhasePrescan:
		lines = append(
			lines,
			m.barLine("prepare", humanize.ScannedFraction(p), fmt.Sprintf("%s of ~%s", humanize.Count(p.Scanned), humanize.Count(p.RowsTotal))),
		)
	case m.phase == event.PhaseRows, m.phase == event.PhaseRecount:
		lines = append(lines, m.barLine(humanize.Step(m.phase), p.Fraction, strings.TrimPrefix(humanize.Progress(p), humanize.Step(p.Phase)+": ")))
		if line := m.applicationLine(); line != "" {
			lines = append(lines, dim.Render(line))
		}
	case m.phase == event.PhaseNative:
		lines = append(lines, "server   "+humanize.Built(p))
	case p.RowsTotal > 0 && !before(m.phase, event.PhaseCopy):
		lines = append(lines, m.rowsLine(), m.changesLine())
		for _, line := range []string{m.applicationLine(), m.workLine(), humanize.Deadline(p.Deadline, p.At)} {
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

// rail lists the steps so far, each once. The current step is bold.
func (m model) rail() string {
	if len(m.entered) == 0 || m.width < 60 {
		return ""
	}
	var steps, parts []string
	for _, p := range m.entered {
		if step := humanize.Step(p); !slices.Contains(steps, step) {
			steps = append(steps, step)
		}
	}
	for _, step := range steps {
		if step == humanize.Step(m.phase) {
			parts = append(parts, bold.Render(step))
		} else {
			parts = append(parts, dim.Render(step))
		}
	}
	return "         " + strings.Join(parts, dim.Render(" › "))
}

// barLine is a bar with a text next to it.
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
		return "indexes  " + humanize.Built(p) + "  " + humanize.ETA(p)
	case m.phase == event.PhaseVerify:
		text := fmt.Sprintf("%s of ~%s  %s", humanize.Count(p.Verified), humanize.Count(p.RowsTotal), humanize.ETA(p))
		return m.barLine("verify", humanize.VerifiedFraction(p), text)
	case p.Fraction >= 1 && p.Changed != nil:
		left := max(0, *p.Changed-int64(p.Backlog))
		return fmt.Sprintf("copy     %s %s", m.drawBar(p.Fraction), humanize.Synced(&left, p.Applied, false))
	case p.Fraction >= 1 && m.undo && p.RowsCopied == 0:
		return fmt.Sprintf("copy     %s %s", m.drawBar(p.Fraction), humanize.Synced(nil, p.Applied, false))
	case p.Fraction >= 1:
		return fmt.Sprintf("copy     %s %s copied", m.drawBar(p.Fraction), humanize.Count(p.RowsCopied))
	}
	return m.barLine(
		"copy", p.Fraction,
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
		"backlog  %s %s (most %s)  %s/s  capture delay %s", m.drawBar(fraction), humanize.Plural(p.Backlog, "key"),
		humanize.Count(m.most), humanize.Rate(p.ApplyRate), humanize.Span(p.CaptureDelay),
	)
	if p.ReplicaLag >= 0 {
		text += "  replica lag " + humanize.Span(p.ReplicaLag)
	}
	return text
}

// applicationLine shows the load of the application and the time of its statements; "" if that is not known.
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

// workLine counts what the run has done.
func (m model) workLine() string {
	p := m.progress
	var parts []string
	if m.phase == event.PhaseCopy {
		parts = append(parts, fmt.Sprintf("%.2g workers, %s per chunk", p.Workers, humanize.Plural(p.ChunkRows, "row")))
	}
	parts = append(parts, humanize.Plural(p.Captured, "change")+" captured", humanize.Count(p.Applied)+" applied")
	if p.Dropped+p.Merged > 0 {
		parts = append(parts, humanize.Count(p.Dropped)+" left to the row copy", humanize.Count(p.Merged)+" merged")
	}
	if p.Retries > 0 {
		retries := "1 retry"
		if p.Retries > 1 {
			retries = humanize.Count(p.Retries) + " retries"
		}
		parts = append(parts, retries)
	}
	return "work     " + strings.Join(parts, " · ")
}

// mostShown is how many reasons of one kind have a line.
const mostShown = 3

// waits are the reasons why the run waits: closed gates, blockers, and a withdrawn lock attempt.
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
			fmt.Sprintf("lock     attempt %d not granted within %s, withdrawn", m.lock.Number, humanize.Span(m.lock.Waited)),
		)
	}
	return lines
}

// before reports whether a phase comes before another.
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
