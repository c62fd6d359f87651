package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
)

var (
	bold = lipgloss.NewStyle().Bold(true)
	dim  = lipgloss.NewStyle().Faint(true)
)

// row is a line of the screen. A terminal that is too low goes without the minor ones.
type row struct {
	text  string
	minor bool
}

// View draws the lines, as wide as the terminal is. A line that is too long goes on in the next one.
func (m model) View() tea.View {
	p := m.progress
	rows := []row{{text: bold.Render(m.table) + "  " + m.headline() + dim.Render("  "+humanize.Span(p.Elapsed))}}
	add := func(minor bool, lines ...string) {
		for _, line := range lines {
			if line != "" {
				rows = append(rows, row{line, minor})
			}
		}
	}
	add(false, m.rail())
	add(false, m.waits()...)
	switch {
	case m.phase == event.PhasePrescan:
		count := fmt.Sprintf("%s of ~%s", humanize.Count(p.Scanned), humanize.Count(p.RowsTotal))
		add(false, m.barLine("prepare", humanize.ScannedFraction(p), count))
	case m.phase == event.PhaseRows, m.phase == event.PhaseRecount:
		add(false, m.barLine(humanize.Step(m.phase), p.Fraction, strings.TrimPrefix(humanize.Progress(p), humanize.Step(p.Phase)+": ")))
		add(true, dimmed(m.applicationLine()))
	case m.phase == event.PhaseNative:
		add(false, "server   "+humanize.Built(p))
	case p.RowsTotal > 0 && !before(m.phase, event.PhaseCopy):
		add(false, m.rowsLine(), dimmed(humanize.Deadline(p.Deadline, p.At)), m.changesLine())
		add(true, dimmed(m.applicationLine()), dimmed(m.workLine()))
	}
	add(false, m.keysLine())
	if m.finished {
		rows = append(rows, row{}) // the renderer takes the last line away when it ends
	}
	return tea.NewView(strings.Join(m.fold(rows), "\n"))
}

// dimmed is a text in faint letters; "" stays empty.
func dimmed(text string) string {
	if text == "" {
		return ""
	}
	return dim.Render(text)
}

const (
	// label is the width of what begins a line.
	label = 9
	// narrow is a terminal that is too narrow for more lines.
	narrow = 40
)

// fold breaks lines that are too long. If the terminal is too low then, it leaves out minor lines.
func (m model) fold(rows []row) (lines []string) {
	most := len(rows)
	for {
		lines = nil
		left := false
		for i, r := range rows {
			if r.minor && i >= most {
				continue
			}
			left = left || r.minor
			if m.width < narrow || ansi.StringWidth(r.text) <= m.width {
				lines = append(lines, ansi.Truncate(r.text, m.width, "…"))
				continue
			}
			first, rest, broken := strings.Cut(ansi.Wrap(r.text, m.width, " "), "\n")
			lines = append(lines, first)
			if !broken {
				continue
			}
			rest = ansi.Wrap(strings.ReplaceAll(rest, "\n", " "), m.width-label, " ")
			for line := range strings.SplitSeq(rest, "\n") {
				lines = append(lines, strings.Repeat(" ", label)+line)
			}
		}
		if m.height <= 0 || len(lines) < m.height || !left {
			return lines
		}
		most--
	}
}

// headline is the state of the run: why it stands still, or its step.
func (m model) headline() string {
	for _, g := range m.gates {
		if g.Name == operator.PausedGate {
			return bold.Render("PAUSED " + humanize.Age(m.progress.At.Sub(g.Since)) + strings.TrimPrefix(escape.Line(g.Why), "paused"))
		}
	}
	switch {
	case m.blocked != nil && len(m.blocked.Blockers) > 0:
		b := m.blocked.Until(m.progress.At)
		by := humanize.Plural(len(b.Blockers), "session")
		if len(b.Blockers) == 1 {
			by = fmt.Sprintf("connection %d", b.Blockers[0].ConnectionID)
		}
		return bold.Render(humanize.BlockedFor(b) + " " + by)
	case len(m.gates) > 0:
		return bold.Render("WAITING " + humanize.Age(m.progress.At.Sub(m.gates[0].Since)))
	}
	if m.oneStep {
		return humanize.PhaseOf(m.phase, m.undo)
	}
	return humanize.Headline(m.phase, m.undo)
}

// rail lists all steps. The current step is bold.
func (m model) rail() string {
	if m.oneStep || len(m.entered) == 0 || m.width < 60 {
		return ""
	}
	var parts []string
	for i, s := range humanize.Stages(m.entered, m.phase == event.PhaseNative) {
		switch s.State {
		case humanize.StageNow:
			parts = append(parts, bold.Render(fmt.Sprintf("%d %s", i+1, s.Name)))
		case humanize.StageDone:
			parts = append(parts, dim.Render("✓ "+s.Name))
		default:
			parts = append(parts, dim.Render(fmt.Sprintf("%d %s", i+1, s.Name)))
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
		text := fmt.Sprintf("%s  %s of ~%s", humanize.ETA(p), humanize.Count(p.Verified), humanize.Count(p.RowsTotal))
		return m.barLine("verify", humanize.VerifiedFraction(p), text)
	case p.Fraction >= 1 && p.Changed != nil:
		left := max(0, *p.Changed-int64(p.Backlog))
		return fmt.Sprintf("copy     %s %s", m.drawBar(p.Fraction), humanize.Synced(&left, p.Applied, false))
	case p.Fraction >= 1 && m.undo && p.RowsCopied == 0:
		return fmt.Sprintf("copy     %s %s", m.drawBar(p.Fraction), humanize.Synced(nil, p.Applied, false))
	case p.Fraction >= 1:
		return fmt.Sprintf("copy     %s %s copied", m.drawBar(p.Fraction), humanize.Count(p.RowsCopied))
	}
	text := fmt.Sprintf("%s  %s of ~%s", humanize.ETA(p), humanize.Count(p.RowsCopied), humanize.Count(p.RowsTotal))
	if rate := humanize.PerSecond(p.CopyRate); rate != "" {
		text += "  " + rate
	}
	return m.barLine("copy", p.Fraction, text)
}

func (m model) changesLine() string {
	p := m.progress
	fraction := 0.0
	if p.BacklogLimit > 0 {
		fraction = min(1, float64(p.Backlog)/float64(p.BacklogLimit))
	}
	text := fmt.Sprintf("backlog  %s %s", m.drawBar(fraction), humanize.Plural(p.Backlog, "key"))
	if m.most > 0 {
		text += fmt.Sprintf(" (most %s)", humanize.Count(m.most))
	}
	if rate := humanize.PerSecond(p.ApplyRate); rate != "" {
		text += "  " + rate
	}
	if p.CaptureDelay > 0 {
		text += "  capture delay " + humanize.Span(p.CaptureDelay)
	}
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
		switch {
		case p.Workers > 0 && p.Workers < 1:
			parts = append(parts, "1 worker, "+humanize.Percent(p.Workers)+" of the time")
		case p.Workers > 0:
			parts = append(parts, fmt.Sprintf("%.2g workers", p.Workers))
		}
		if p.ChunkRows > 0 {
			parts = append(parts, humanize.Plural(p.ChunkRows, "row")+" per chunk")
		}
	}
	parts = append(parts, humanize.Changes(p.Captured, p.Applied, p.Dropped, p.Merged, " · "))
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
		if g.Name == operator.PausedGate { // the headline has it
			continue
		}
		lines = append(lines, "waiting  "+escape.Line(g.Why))
	}
	if m.blocked != nil {
		now := m.blocked.Until(m.progress.At)
		for _, b := range now.Blockers[:min(mostShown, len(now.Blockers))] {
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
