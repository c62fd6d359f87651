package cli

import (
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
)

// planText tells what a run will do.
func planText(p *plan.Plan, address, former string, cfg migration.Config, settings operator.Settings, keep bool) string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s %s\n", label, humanize.Wrapped(fmt.Sprintf(format, args...), 100, "            "))
	}
	fmt.Fprintf(&b, "%s on %s (%s)\n", p.Source.Name, escape.Line(address), p.Server.Version)
	line("change", "%s", p.Alter.Clauses)
	follows := ""
	if p.Choice.Method == plan.MethodShadow {
		follows = fmt.Sprintf(", following key %s (%s)", p.Key.Name, strings.Join(p.Key.Columns(), ", "))
	}
	b.WriteString(methodText(p.Choice, follows))
	line("size", "%s", sizeText(p.Source))
	if capture := p.Server.Capture; capture != nil && p.Choice.Method == plan.MethodShadow {
		line("changes", "read from replica %s", capture.Address)
	}
	if p.Capture.By == plan.CaptureTrigger && p.Choice.Method == plan.MethodShadow {
		line("changes", "captured by triggers that write to %s: %s", p.Names.Log, p.Capture.Why)
	}
	if p.Choice.Method == plan.MethodShadow {
		line("indexes", "%s", indexText(p, cfg))
	}
	switch {
	case p.Purpose.Rehearses():
		line("rehearsal", "%s", rehearsalPlan(p, keep))
	case p.Choice.Method == plan.MethodShadow:
		kept := "stays as " + p.Names.Former().String()
		if cfg.DropOld {
			kept = "is dropped (for a moment it is " + p.Names.Old.String() + ")"
		}
		line("tables", "%s and %s are created; the old table %s", p.Names.Shadow, p.Names.State, kept)
	}
	predictionText(predict(p, cfg, settings), line)
	if changes := p.ColumnChanges(); len(changes) > 0 {
		line("columns", "%s", joined(changes, "; "))
	}
	line("grants", "%s", strings.Join(p.Grants(), "; "))
	if former != "" {
		line("earlier", "%s", former)
	}
	b.WriteString(risksText(p.Risks))
	return b.String()
}

// joined says several things in a line.
func joined[T fmt.Stringer](things []T, separator string) string {
	var words []string
	for _, t := range things {
		words = append(words, t.String())
	}
	return strings.Join(words, separator)
}

// methodText tells the method, what else there is to say of it, and why not another one.
func methodText(c plan.Choice, more string) string {
	const indent = "            "
	text := string(c.Method) + more
	if c.Why != "" {
		text += ": " + c.Why
	}
	text = fmt.Sprintf("  %-9s %s\n", "method", humanize.Wrapped(text, 100, indent))
	for _, other := range c.Others {
		text += indent + humanize.Wrapped(fmt.Sprintf("not %s: %s", other.Method, other.Why), 100, indent+"  ") + "\n"
	}
	if c.Warning != "" {
		text += indent + humanize.Wrapped("as asked for, although "+c.Warning, 100, indent+"  ") + "\n"
	}
	return text
}

// sizeText tells how large a table is.
func sizeText(t *schema.Table) string {
	return fmt.Sprintf(
		"about %s rows, %s of rows and %s of indexes, as the server estimates", humanize.Count(t.Rows),
		humanize.Size(t.DataBytes), humanize.Size(t.IndexBytes),
	)
}

// quietPlan is what may need somebody.
func quietPlan(p *plan.Plan) string {
	if len(p.Risks) == 0 {
		return ""
	}
	return p.Source.Name.String() + "\n" + risksText(p.Risks)
}

func risksText(risks []plan.Risk) string {
	text := ""
	for _, r := range risks {
		text += riskText(r)
	}
	if text != "" {
		text = "  risks\n" + text
	}
	return text
}

func indexText(p *plan.Plan, cfg migration.Config) string {
	if cfg.Defers(p) {
		return "secondary ones are built after the row copy"
	}
	if cfg.Indexes != migration.DeferNever && p.Server.Replicas > 0 {
		return fmt.Sprintf("secondary ones are filled while rows are copied: building them afterwards would hold up %s",
			humanize.Plural(p.Server.Replicas, "replica"))
	}
	return "secondary ones are filled while rows are copied"
}

func riskText(r plan.Risk) string {
	const indent = "      "
	text := fmt.Sprintf("    - %s\n", humanize.Wrapped(r.What, 100, indent))
	if r.Why != "" {
		text += indent + humanize.Wrapped(r.Why, 100, indent) + "\n"
	}
	if r.Fix != "" {
		text += indent + "fix: " + humanize.Wrapped(r.Fix, 100, indent+"     ") + "\n"
	}
	return text
}

// refusal lists every reason why a run is refused.
func refusal(r *plan.Refused) string {
	var b strings.Builder
	fmt.Fprintf(&b, "midstream: refused: %s\n", escape.Line(r.Summary()))
	for _, risk := range r.Blocking {
		b.WriteString(riskText(risk))
	}
	if len(r.Others) > 0 {
		b.WriteString("  besides, you should know:\n")
		for _, risk := range r.Others {
			b.WriteString(riskText(risk))
		}
	}
	return b.String()
}

// denials lists privileges, a line for each.
type denials string

func (d denials) Error() string { return string(d) }

// denial lists every privilege that cleanup's account lacks.
func denial(d *leftovers.Denied) denials {
	text := "refused: the account may not do what cleanup needs; nothing was dropped\n"
	for _, risk := range d.Lacked {
		text += riskText(risk)
	}
	return denials(strings.TrimSuffix(text, "\n"))
}

// summary tells what a finished run did.
func summary(p *plan.Plan, r migration.Result, cfg migration.Config, settings operator.Settings, used usageOfProcess) string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s %s\n", label, fmt.Sprintf(format, escape.Args(args...)...))
	}
	fmt.Fprintf(&b, "Done: %s has its new schema, after %s.\n", p.Source.Name, humanize.Span(r.Elapsed))
	if cost := costText(predict(p, cfg, settings), r); cost != "" {
		line("cost", "%s", cost)
	}
	if r.Method != plan.MethodShadow {
		if r.Method != plan.MethodNone {
			line("server", "%s, %s in its own statement", humanize.Plural(r.Attempts, "attempt"), humanize.Span(r.Native))
		}
		return b.String()
	}
	workLines(r, line)
	line("cut-over", "%s; locked for %s, %s applied under the lock",
		humanize.Plural(r.Attempts, "attempt"), humanize.Span(r.LockHeld), humanize.Plural(r.Drained, "key"))
	if used.peakRSS > 0 {
		line("client", "%s of memory at most, %s of CPU", humanize.Size(used.peakRSS), humanize.Span(used.cpu))
	}
	remove := ""
	if r.Old != "" {
		remove = "; remove it with: midstream cleanup --old " + p.Source.Name.Argument()
	}
	line("old table", "%s%s", oldText(r), remove)
	return b.String()
}

// workLines tells what runs and rehearsals have in common.
func workLines(r migration.Result, line func(label, format string, args ...any)) {
	line(
		"rows", "%s copied in %s (%s/s)%s", humanize.Count(r.RowsCopied), humanize.Span(r.Copy),
		humanize.Rate(perSecond(r.RowsCopied, r.Copy)), indexTime(r.Index),
	)
	line("changes", "%s captured: %s applied, %s left to the row copy, %s merged",
		humanize.Count(r.Captured), humanize.Count(r.Applied), humanize.Count(r.Dropped), humanize.Count(r.Merged))
	if r.Resumed {
		line("resumed", "yes: an earlier run was gone on with, whose rows are counted; its changes are not")
	}
	if r.Verify > 0 {
		line("verified", "%s compared in %s, all equal%s", humanize.Plural(r.Verified, "row"), humanize.Span(r.Verify), repairedText(r.Repaired))
	} else {
		line("verified", "no: the tables were not compared")
	}
}

func repairedText(rows int) string {
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf("; %s differed and %s synced anew", humanize.Plural(rows, "row"), humanize.Was(rows))
}

// oldText says what became of the old table.
func oldText(r migration.Result) string {
	if r.Old == "" {
		return "was dropped"
	}
	return "stays as " + r.Old
}

func indexTime(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return "; indexes built in " + humanize.Span(d)
}

func perSecond(n int64, d time.Duration) float64 { return float64(n) / max(d.Seconds(), 1e-9) }

// planOf returns the record of a plan.
func planOf(p *plan.Plan, address string, cfg migration.Config, settings operator.Settings) record.Plan {
	captureFrom := ""
	if p.Server.Capture != nil {
		captureFrom = p.Server.Capture.Address
	}
	return record.Plan{
		CaptureFrom: captureFrom,
		Capture:     string(p.Capture.By),
		CaptureWhy:  p.Capture.Why,
		Head: record.HeadOf(
			record.NamePlan, time.Now(),
		),
		Rehearsal:     string(p.Purpose),
		Table:         p.Source.Name.Dotted(),
		Alter:         p.Alter.Clauses,
		Method:        string(p.Choice.Method),
		Why:           p.Choice.Why,
		Others:        record.Rejections(p.Choice.Others),
		Warning:       p.Choice.Warning,
		ServerAddress: address,
		ServerVersion: p.Server.Version.String(),
		Replicas:      p.Server.Replicas,
		Key:           p.Key.Name,
		KeyColumns:    p.Key.Columns(),
		RowsEstimate:  p.Source.Rows,
		DataBytes:     p.Source.DataBytes,
		IndexBytes:    p.Source.IndexBytes,
		Shadow:        p.Names.Shadow.Dotted(),
		Old:           p.Names.Former().Dotted(),
		State:         p.Names.State.Dotted(),
		Prediction: record.PredictionOf(
			predict(p, cfg, settings),
		),
		Columns: record.Columns(p.ColumnChanges()),
		Grants:  p.Grants(),
		Risks:   record.Risks(p.Risks),
		Steps:   []string{},
		Locks:   []string{},
	}
}

// resultOf returns the record of a run's end.
func (a *app) resultOf(r migration.Result, err error, code int) record.Result {
	used, seen := processUsage(), r.Rehearsed
	rec := record.Result{
		Head: record.HeadOf(
			record.NameResult, time.Now(),
		),
		Method:   string(r.Method),
		Outcome:  outcomeOf(code).name,
		ExitCode: code,
		Swapped:  r.Swapped,
		Problems: []record.Risk{},
		Old:      r.Old,
		Tables:   []record.Table{},
		ElapsedMS: record.MSOf(
			r.Elapsed,
		),
		PrescanMS:       record.MSOf(r.Prescan),
		Scanned:         r.Scanned,
		CopyMS:          record.MSOf(r.Copy),
		IndexMS:         record.MSOf(r.Index),
		VerifyMS:        record.MSOf(r.Verify),
		Verified:        r.Verified,
		Repaired:        r.Repaired,
		RowsCopied:      r.RowsCopied,
		Captured:        r.Captured,
		Applied:         r.Applied,
		Dropped:         r.Dropped,
		Merged:          r.Merged,
		Retries:         r.Retries,
		DiskBytes:       r.Disk,
		RedoBytes:       r.Redo,
		BinlogBytes:     r.Binlog,
		Attempts:        r.Attempts,
		LockHeldMS:      record.MSOf(r.LockHeld),
		DrainedKeys:     r.Drained,
		BinlogReadBytes: r.BinlogRead,
		LockWaitedMS: record.MSOf(
			seen.LockWaited,
		),
		Blockers:    seen.Blockers,
		BlockedMS:   record.MSOf(seen.Blocked),
		MostDelayMS: record.MSOf(seen.CaptureDelay),
		ShadowBytes: seen.ShadowBytes,
		Shadow:      seen.Shadow,
		ReplicaBeforeMS: record.MSOf(
			seen.Replication.Before,
		),
		ReplicaLagMS:   record.MSOf(seen.Replication.Lag),
		ReplicaStallMS: record.MSOf(seen.Replication.Stall),
		PeakRSSBytes:   used.peakRSS,
		CPUMS:          record.MSOf(used.cpu),
	}
	if err != nil {
		a.fill(&rec, err, code)
	}
	return rec
}
