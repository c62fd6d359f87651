package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/migration"
	"midstream/internal/plan"
)

// planText tells what a run will do.
func planText(p *plan.Plan, address, former string, cfg migration.Config) string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s %s\n", label, wrapped(fmt.Sprintf(format, args...), 100, "            "))
	}
	fmt.Fprintf(&b, "%s on %s (%s)\n", p.Source.Name, address, p.Server.Version)
	line("change", "%s", p.Alter.Clauses)
	line("method", "shadow copy, following key %s (%s)", p.Key.Name, strings.Join(p.Key.Columns(), ", "))
	line("size", "about %s rows, %s of rows and %s of indexes, as the server estimates",
		count(p.Source.Rows), size(p.Source.DataBytes), size(p.Source.IndexBytes))
	line("indexes", "%s", indexText(p, cfg))
	kept := "stays as " + p.Names.Old.String()
	if cfg.DropOld {
		kept = "is dropped (for a moment it is " + p.Names.Old.String() + ")"
	}
	line("tables", "%s and %s are created; the old table %s", p.Names.Shadow, p.Names.State, kept)
	if former != "" {
		line("earlier", "%s", former)
	}
	b.WriteString(risksText(p))
	return b.String()
}

// quietPlan is what may need somebody.
func quietPlan(p *plan.Plan) string {
	if len(p.Risks) == 0 {
		return ""
	}
	return p.Source.Name.String() + "\n" + risksText(p)
}

func risksText(p *plan.Plan) string {
	text := ""
	for _, r := range p.Risks {
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
			plural(p.Server.Replicas, "replica"))
	}
	return "secondary ones are filled while rows are copied"
}

func riskText(r plan.Risk) string {
	const indent = "      "
	text := fmt.Sprintf("    - %s\n", wrapped(r.What, 100, indent))
	if r.Why != "" {
		text += indent + wrapped(r.Why, 100, indent) + "\n"
	}
	if r.Fix != "" {
		text += indent + "fix: " + wrapped(r.Fix, 100, indent+"     ") + "\n"
	}
	return text
}

// refusal lists every reason why a run is refused.
func refusal(r *plan.Refused) string {
	var b strings.Builder
	fmt.Fprintf(&b, "midstream: refused: %s\n", r.Summary())
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

// denial lists every privilege that cleanup's account lacks.
func denial(d *migration.Denied) string {
	text := "refused: the account may not do what cleanup needs; nothing was dropped\n"
	for _, risk := range d.Lacked {
		text += riskText(risk)
	}
	return strings.TrimSuffix(text, "\n")
}

// summary tells what a finished run did.
func summary(p *plan.Plan, r migration.Result, used usageOfProcess) string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s %s\n", label, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "Done: %s has its new schema, after %s.\n", p.Source.Name, span(r.Elapsed))
	line("rows", "%s copied in %s (%s/s)%s", count(r.RowsCopied), span(r.Copy), rate(perSecond(r.RowsCopied, r.Copy)), indexTime(r.Index))
	line("changes", "%s captured: %s applied, %s left to the row copy, %s merged",
		count(r.Captured), count(r.Applied), count(r.Dropped), count(r.Merged))
	if r.Resumed {
		line("resumed", "yes: an earlier run was gone on with, whose rows are counted; its changes are not")
	}
	if r.Verify > 0 {
		line("verified", "%s compared in %s, all equal%s", plural(r.Verified, "row"), span(r.Verify), repairedText(r.Repaired))
	} else {
		line("verified", "no: the tables were not compared")
	}
	line("cut-over", "%s; locked for %s, %s applied under the lock",
		plural(r.Attempts, "attempt"), span(r.LockHeld), plural(r.Drained, "key"))
	if used.peakRSS > 0 {
		line("client", "%s of memory at most, %s of CPU", size(used.peakRSS), span(used.cpu))
	}
	remove := ""
	if r.Old != "" {
		remove = "; remove it with: midstream cleanup --old " + p.Source.Name.Argument()
	}
	line("old table", "%s%s", oldText(r), remove)
	return b.String()
}

func repairedText(rows int) string {
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf("; %s differed and %s synced anew", plural(rows, "row"), was(rows))
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
	return "; indexes built in " + span(d)
}

func perSecond(n int64, d time.Duration) float64 { return float64(n) / max(d.Seconds(), 1e-9) }

// planOf returns the record of a plan.
func planOf(p *plan.Plan, address string) planRecord {
	return planRecord{
		head: headOf(namePlan, time.Now()), Table: p.Source.Name.String(), Alter: p.Alter.Clauses, Method: "shadow_copy",
		ServerAddress: address, ServerVersion: p.Server.Version.String(), Replicas: p.Server.Replicas,
		Key: p.Key.Name, KeyColumns: p.Key.Columns(), RowsEstimate: p.Source.Rows,
		DataBytes: p.Source.DataBytes, IndexBytes: p.Source.IndexBytes,
		Shadow: p.Names.Shadow.String(), Old: p.Names.Old.String(), State: p.Names.State.String(),
		Risks: riskRecords(p.Risks),
	}
}

// resultOf returns the record of a run's end.
func resultOf(r migration.Result, err error, code int) resultRecord {
	used := processUsage()
	record := resultRecord{
		head: headOf(nameResult, time.Now()), Outcome: outcomeOf(code).name, ExitCode: code, Swapped: r.Swapped,
		Problems: []riskRecord{}, Old: r.Old,
		ElapsedMS: msOf(r.Elapsed), PrescanMS: msOf(r.Prescan), Scanned: r.Scanned, CopyMS: msOf(r.Copy), IndexMS: msOf(r.Index), VerifyMS: msOf(r.Verify),
		Verified: r.Verified, Repaired: r.Repaired, RowsCopied: r.RowsCopied,
		Captured: r.Captured, Applied: r.Applied, Dropped: r.Dropped, Merged: r.Merged, Retries: r.Retries,
		Attempts: r.Attempts, LockHeldMS: msOf(r.LockHeld), DrainedKeys: r.Drained, BinlogReadBytes: r.BinlogRead,
		PeakRSSBytes: used.peakRSS, CPUMS: msOf(used.cpu),
	}
	if err == nil {
		return record
	}
	record.Error = err.Error()
	var failure *migration.Failure
	var refused *plan.Refused
	var c *coded
	switch {
	case errors.As(err, &failure):
		record.Error, record.Phase = failure.Err.Error(), string(failure.Phase)
		record.Left, record.Next, record.Swapped = failure.Left, failure.Next, failure.Swapped
	case errors.As(err, &refused):
		record.Problems = riskRecords(refused.Blocking)
		record.Left = "nothing was written"
	case errors.As(err, &c):
		record.Left, record.Next = c.left, c.next
	default:
		record.Left = "nothing was written"
	}
	return record
}
