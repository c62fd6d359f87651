package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// writeReport writes the page and the plots of a results folder, and the page again as latest.md
// next to the folder.
func writeReport(files map[string]*File, dir string, say func(string, ...any)) error {
	if len(files) == 0 {
		return fmt.Errorf("cannot write the report: %s has no results", dir)
	}
	plots, err := drawPlots(files, dir)
	if err != nil {
		return err
	}
	text := func(prefix string) []byte {
		var p page
		p.write(files, plots, prefix)
		return []byte(p.String())
	}
	own := filepath.Join(dir, "README.md")
	if err := os.WriteFile(own, text(""), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	latest := filepath.Join(filepath.Dir(filepath.Clean(dir)), "latest.md")
	if err := os.WriteFile(latest, text(filepath.Base(dir)+"/"), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	var p page
	p.reach(files)
	if files[measureRivals] == nil || len(files) > 1 {
		p.verdicts(files)
	}
	fmt.Printf("\n%s\n", p.String())
	say("written: %s, %s", own, latest)
	return nil
}

// page is Markdown.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) row(cells ...string) {
	p.line("| %s |", strings.ReplaceAll(strings.Join(cells, " | "), "\n", " "))
}

func (p *page) head(cells ...string) {
	p.row(cells...)
	p.line("|%s", strings.Repeat("---|", len(cells)))
}

func (p *page) write(files map[string]*File, plots []string, prefix string) {
	p.line("# Benchmark\n")
	p.line(
		"Made by `make bench`; [bench/README.md](%s) says what each number is. The numbers with all rounds: the JSON files of",
		upTo(prefix),
	)
	p.line("[this folder](%s). Medians of the rounds; in brackets the minimum and the maximum. A ratio is", prefix+".")
	p.line("the median of the rounds' ratios.\n")
	p.reach(files)
	p.verdicts(files)
	for _, name := range measurements() {
		if f := files[name]; f != nil {
			p.header(name, f)
			break
		}
	}
	p.rivals(files[measureRivals])
	if f := files[measurePeers]; f != nil {
		p.peers(f)
	}
	for _, plot := range plots {
		p.line("![%s](%s)\n", strings.TrimSuffix(plot, ".svg"), prefix+plot)
	}
	p.apply(files[measureApply], files[measureMemory])
	p.partitions(files[measureParts])
	p.rules(files[measureRules])
	p.cost(files[measureCost])
	p.stall(files[measureStall])
	p.predictions(files[measurePredict])
	p.forecasts(files[measureForecast])
	p.beside(files[measureBeside])
	p.turns(files[measureTurns])
	p.lag(files[measureLag])
	p.capture(files[measureCapture])
	p.statement(files[measureStatement])
	p.deadlines(files[measureDeadline])
	p.undos(files[measureUndo])
}

func upTo(prefix string) string {
	if prefix == "" {
		return "../../README.md"
	}
	return "../README.md"
}

func (p *page) verdicts(files map[string]*File) {
	p.line("## Verdict\n")
	for _, doubt := range doubts(files) {
		p.line("- **%s**", doubt)
	}
	p.line("")
	p.judge(verdicts(files))
}

// judge writes a table of demands.
func (p *page) judge(verdicts []verdict) {
	p.head("what", "must", "measured", "", "")
	for _, v := range verdicts {
		shown := v.shown
		if math.IsNaN(v.value) {
			shown = "–"
		}
		p.row(v.what, v.must, shown, v.word(), v.note)
	}
	p.line("")
}

func (p *page) header(name string, f *File) {
	m := f.Machine
	p.line("## Where\n")
	p.line("- %s, commit %s, %s rows (%.0f MB with the index), %d rounds, %d connections of sysbench", f.At.Format("2006-01-02 15:04 MST"),
		f.Commit, thousands(f.Rows), float64(f.TableBytes)/1e6, f.Rounds, f.Threads)
	p.line("- %d x %s, %.0f GB, %s, Linux %s; a write and fsync of 4 kB takes %.2f ms", m.Cores, m.CPU, float64(m.Memory)/(1<<30),
		m.System, m.Kernel, m.FsyncMS)
	var variables []string
	for _, name := range slices.Sorted(maps.Keys(f.Variables)) {
		if name != "version" && name != "version_comment" {
			variables = append(variables, name+"="+f.Variables[name])
		}
	}
	p.line("- MySQL %s (%s): %s", f.Variables["version"], f.Variables["version_comment"], strings.Join(variables, ", "))
	for _, name := range slices.Sorted(maps.Keys(f.Programs)) {
		p.line("- %s: %s", name, f.Programs[name])
	}
	for _, missing := range f.Missing {
		p.line("- %s", missing)
	}
	p.line("- load average before the first run: %s; %s", f.LoadAverage, quietness(f))
	p.line("- flags: `%s` (%s)\n", strings.Join(f.Arguments, " "), name)
}

// quietness reports how much other programs used the machine during the measurement.
func quietness(f *File) string {
	shares := f.foreignCPU()
	if len(shares) == 0 {
		return "no runs"
	}
	return fmt.Sprintf("others used %.0f %% of the machine during a run (median; at most %.0f %%)", 100*median(shares), 100*highest(shares))
}

func (p *page) peers(f *File) {
	p.line("## Compared with other tools\n")
	if f.PeakTPS > 0 {
		p.line("The peak of the server with nothing else to do: %.0f transactions/s.\n", f.PeakTPS)
	}
	loads, tools := f.names()
	for _, load := range loads {
		p.line("### %s\n", load)
		p.head("tool", "finished", "elapsed s", "midstream compared with it", "tps", "compared with none", "p99 ms", "longest transaction ms",
			"longest statement ms", "client CPU s", "compared with mysqld's", "client MB", "mysqld CPU s", "binlog MB", "of the tool")
		ours := f.of(toolMidstream, load)
		none := f.of(toolNone, load)
		for _, tool := range tools {
			runs := f.of(tool, load)
			if len(runs) == 0 {
				continue
			}
			finished, client, share, memory, beside := doneOf(runs), "–", "–", "–", number(median(paired(ours, runs, elapsedOf)), "%.2fx")
			if tool == toolMidstream || tool == toolPT {
				client = number(median(collect(runs, func(r Run) float64 { return r.ClientCPUS })), "%.2f")
				share = number(100*median(collect(runs, cpuShare)), "%.1f %%")
				memory = number(highest(collect(runs, func(r Run) float64 { return float64(r.ClientRSS) / 1e6 })), "%.0f")
			}
			if tool == toolNone {
				finished, beside = "–", "–"
			}
			p.row(tool, finished, spread(collect(runs, elapsedOf), "%.1f"), beside,
				spread(collect(runs, tpsOf), "%.0f"),
				number(100*median(paired(runs, none, tpsOf)), "%.0f %%"),
				number(median(collect(runs, p99Of)), "%.0f"), spread(collect(runs, longestTransaction), "%.0f"),
				spread(collect(runs, longestStatement), "%.0f"), client, share, memory,
				number(median(collect(runs, func(r Run) float64 { return r.ServerCPUS })), "%.1f"),
				number(median(collect(runs, func(r Run) float64 { return float64(r.BinlogBytes) / 1e6 })), "%.0f"),
				number(median(collect(runs, ofTheTool(none))), "%.0f"))
		}
		p.line("")
	}
	p.troubles(f.Runs)
}

// ofTheTool returns the binlog, in MB, that the foreground did not write: the foreground writes the
// same for every transaction, whichever tool runs next to it.
func ofTheTool(none []Run) func(Run) float64 {
	perTransaction := median(collect(none, func(r Run) float64 {
		return ratio(float64(r.BinlogBytes), tpsOf(r)*r.ElapsedS)
	}))
	return func(r Run) float64 {
		if r.Foreground == nil {
			return float64(r.BinlogBytes) / 1e6
		}
		return max(0, float64(r.BinlogBytes)-perTransaction*tpsOf(r)*r.ElapsedS) / 1e6
	}
}

// troubles lists what went wrong.
func (p *page) troubles(runs []Run) {
	for _, r := range runs {
		where := fmt.Sprintf("- %s, %s, round %d: ", r.Tool, r.Load, r.Round+1)
		if r.Error != "" {
			p.line("%s%s", where, r.Error)
		}
		if r.Foreground != nil && r.Foreground.Died != "" {
			p.line("%sthe foreground died: %s", where, r.Foreground.Died)
		}
		if r.Probe.Errors > 0 {
			p.line("%s%d single statements failed, the first with: %s", where, r.Probe.Errors, r.Probe.FirstError)
		}
	}
	p.line("")
}

func (p *page) apply(apply, memory *File) {
	if apply != nil && len(apply.Apply) > 0 {
		p.line("## Apply\n")
		p.line("Every row is changed once, at full speed, after the row copy.\n")
		p.head("order", "applied rows/s", "during the writer", "after it", "from the first change to the last applied", "writer rows/s",
			"largest backlog", "client MB", "client CPU compared with mysqld's")
		for _, order := range []string{orderSequential, orderScattered} {
			runs := slices.DeleteFunc(slices.Clone(apply.Apply), func(r ApplyRun) bool { return r.Order != order })
			of := func(f func(ApplyRun) float64) []float64 { return collect(runs, f) }
			p.row(order, spread(of(func(r ApplyRun) float64 { return r.AppliedPerS }), "%.0f"),
				spread(of(func(r ApplyRun) float64 { return r.WhileWriting }), "%.0f"),
				spread(of(func(r ApplyRun) float64 { return r.AfterWriting }), "%.0f"),
				spread(of(func(r ApplyRun) float64 { return r.OverallPerS }), "%.0f"),
				spread(of(func(r ApplyRun) float64 { return r.WriterRowsPerS }), "%.0f"),
				number(highest(of(func(r ApplyRun) float64 { return float64(r.PeakBacklogKeys) })), "%.0f"),
				number(highest(of(func(r ApplyRun) float64 { return float64(r.ClientRSS) / 1e6 })), "%.0f"),
				number(100*median(of(func(r ApplyRun) float64 { return ratio(r.ClientCPUS, r.ServerCPUS) })), "%.1f %%"))
		}
		p.line("")
		p.applyTroubles(apply.Apply)
	}
	if memory != nil && len(memory.Apply) > 0 {
		p.line("## Memory\n")
		for _, r := range memory.Apply {
			p.line(
				"The client held at most %.1f MB, with a backlog of up to %s keys.\n", float64(r.ClientRSS)/1e6,
				thousands(int(r.PeakBacklogKeys)),
			)
		}
		p.applyTroubles(memory.Apply)
	}
}

func (p *page) applyTroubles(runs []ApplyRun) {
	for _, r := range runs {
		if r.Error != "" {
			p.line("- %s, round %d: %s", r.Order, r.Round+1, r.Error)
		}
	}
	p.line("")
}

func (p *page) rules(f *File) {
	if f == nil {
		return
	}
	p.line("## Effect of the rules\n")
	p.line("At full speed: the frontier rule leaves changes ahead of the row copy to it, merging applies a key that changed twice once.\n")
	p.head("variant", "finished", "elapsed s", "compared with midstream", "tps", "captured", "applied", "left to the copy", "merged")
	names, _ := variants()
	for _, name := range names {
		runs := f.of(name, loadFull)
		if len(runs) == 0 {
			continue
		}
		of := func(get func(midstreamResult) int64) string {
			return number(median(collect(runs, func(r Run) float64 {
				if r.Midstream == nil {
					return math.NaN()
				}
				return float64(get(*r.Midstream))
			})), "%.0f")
		}
		p.row(name, doneOf(runs), spread(collect(runs, func(r Run) float64 { return r.ElapsedS }), "%.1f"),
			number(median(paired(runs, f.of(toolMidstream, loadFull), elapsedOf)), "%.2fx"), spread(collect(runs, tpsOf), "%.0f"),
			of(func(r midstreamResult) int64 { return r.CapturedChanges }), of(func(r midstreamResult) int64 { return r.AppliedKeys }),
			of(func(r midstreamResult) int64 { return r.Dropped }), of(func(r midstreamResult) int64 { return r.Merged }))
	}
	p.line("")
	p.troubles(f.Runs)
}

func (p *page) cost(f *File) {
	if f == nil {
		return
	}
	p.line("## Cost per row\n")
	p.line("Measured %s, commit %s; %s.\n", f.At.Format("2006-01-02 15:04 MST"), f.Commit, quietness(f))
	p.head("rows", "table MB", "elapsed s", "microseconds/row")
	for _, h := range append(slices.Clone(f.Others), f.Header) {
		runs := slices.DeleteFunc(slices.Clone(f.Runs), func(r Run) bool { return r.Rows != h.Rows || !r.Finished })
		p.row(
			thousands(h.Rows), fmt.Sprintf("%.0f", float64(h.TableBytes)/1e6),
			spread(collect(runs, func(r Run) float64 { return r.ElapsedS }), "%.1f"),
			number(median(collect(runs, func(r Run) float64 { return 1e6 * r.ElapsedS / float64(r.Rows) })), "%.2f"),
		)
	}
	p.line("")
	p.troubles(f.Runs)
}

// names returns the loads and tools that were measured, in their usual order.
func (f *File) names() (loads, tools []string) {
	has := func(of func(Run) string, name string) bool {
		return slices.ContainsFunc(f.Runs, func(r Run) bool { return of(r) == name })
	}
	for _, load := range []string{loadIdle, loadLight, loadHeavy, loadFull, loadForty, loadEighty, loadPeak} {
		if has(func(r Run) string { return r.Load }, load) {
			loads = append(loads, load)
		}
	}
	for _, tool := range []string{toolMidstream, toolPT, toolInplace, toolCopy, toolNone} {
		if has(func(r Run) string { return r.Tool }, tool) {
			tools = append(tools, tool)
		}
	}
	return loads, tools
}

func doneOf(runs []Run) string {
	done := 0
	for _, r := range runs {
		if r.Finished {
			done++
		}
	}
	return fmt.Sprintf("%d of %d", done, len(runs))
}

// number formats a value; a dash if it is NaN.
func number(v float64, format string) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf(format, v)
}

// spread formats the median, and the least and most in brackets.
func spread(values []float64, format string) string {
	switch len(values) {
	case 0:
		return "–"
	case 1:
		return fmt.Sprintf(format, values[0])
	}
	return fmt.Sprintf(format+" ("+format+"–"+format+")", median(values), lowest(values), highest(values))
}

func milliseconds(v float64) string { return number(v, "%.0f ms") }

func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
