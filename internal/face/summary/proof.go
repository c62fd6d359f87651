package summary

import (
	"fmt"
	"strings"
	"time"

	"midstream/internal/face/humanize"
	"midstream/internal/lab/demo"
	"midstream/internal/ops/record"
)

// OfProof writes what a demo has proved.
func OfProof(p *demo.Proof, r *record.Result) string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s %s\n", label, humanize.Wrapped(fmt.Sprintf(format, args...), 86, "            "))
	}
	c := p.Compared
	b.WriteString("Proof\n")
	verdict := "equal"
	if !c.Equal() {
		verdict = "DIFFERENT"
	}
	line(
		verdict,
		"%s rows of %d columns compared with the writers' ledger (%s of them written during the change): %s differing, %s missing, %s extra",
		humanize.Count(c.Rows), c.Columns, humanize.Count(c.Touched), humanize.Count(c.Differing), humanize.Count(c.Missing),
		humanize.Count(c.Extra),
	)
	for _, difference := range c.FirstDifferences[:min(5, len(c.FirstDifferences))] {
		line("", "%s", difference)
	}
	if p.Altered {
		line("schema", "the table was altered")
	} else {
		line("schema", "THE DEFINITION IS THE OLD ONE")
	}
	copied := r.CopyMS.Duration()
	line("elapsed", "%s; %s rows copied in %s (%s/s)%s", humanize.Span(r.ElapsedMS.Duration()), humanize.Count(r.RowsCopied),
		humanize.Span(copied), humanize.Rate(float64(r.RowsCopied)/max(copied.Seconds(), 1e-9)), indexTime(r.IndexMS.Duration()))
	line("changes", "%s", humanize.Changes(r.Captured, r.Applied, r.Dropped, r.Merged, ", "))
	line("writers", "%s transactions during the change (%.0f/s; %.0f/s before)",
		humanize.Count(p.During.Transactions), p.During.TransactionsPerSecond(), p.Before.TransactionsPerSecond())
	line("waits", "%s; before the change: %s", waitText(p.Longest), humanize.Span(p.Before.Max()))
	line("lock", "held for %s at the cut-over, %s applied under it, %s",
		humanize.Span(r.LockHeldMS.Duration()), humanize.Plural(r.DrainedKeys, "key"), humanize.Plural(r.Attempts, "attempt"))
	line("client", "%s of memory at most, %s of CPU (the process that ran the change; the writers are in another)",
		humanize.Size(r.PeakRSSBytes), humanize.Span(r.CPUMS.Duration()))
	return b.String()
}

func waitText(w demo.Wait) string {
	when := fmt.Sprintf("%s into the change, in phase %s", humanize.Span(max(0, w.Into)), w.Phase)
	if w.After {
		when = "after the change"
	}
	return fmt.Sprintf("no statement of the writers took longer than %s (kind: %s; %s)", humanize.Span(w.Took), w.Kind, when)
}

func indexTime(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return "; indexes built in " + humanize.Span(d)
}
