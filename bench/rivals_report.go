package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// elapsedOrNever is the time of a run in seconds, and infinite for a run that did not finish.
func elapsedOrNever(r Run) float64 {
	if !r.Finished {
		return math.Inf(1)
	}
	return r.ElapsedS
}

// p99During is the median of the p99 of each second under the tool.
func p99During(r Run) float64 {
	return ofForeground(r, func(f Foreground) float64 { return median(f.SecondsP99MS) })
}

func p99Before(r Run) float64 {
	if r.Before == nil {
		return math.NaN()
	}
	return median(r.Before.SecondsP99MS)
}

func p99Ratio(r Run) float64 { return ratio(p99During(r), p99Before(r)) }

// worstSecond is the highest p99 of a second under the tool.
func worstSecond(r Run) float64 {
	return ofForeground(r, func(f Foreground) float64 { return highest(f.SecondsP99MS) })
}

func worstBefore(r Run) float64 {
	if r.Before == nil {
		return math.NaN()
	}
	return highest(r.Before.SecondsP99MS)
}

func keptPercent(r Run) float64 { return 100 * besideTPS(r) }

func verifyShare(r Run) float64 {
	if r.Midstream == nil || !r.Finished {
		return math.NaN()
	}
	return 100 * ratio(r.Midstream.VerifyMS, r.Midstream.CopyMS)
}

// pairedDifference returns the differences of a figure of two sets of runs, round by round.
func pairedDifference(a, b []Run, of func(Run) float64) (differences []float64) {
	for _, x := range a {
		for _, y := range b {
			if d := of(x) - of(y); x.Round == y.Round && !math.IsNaN(d) {
				differences = append(differences, d)
			}
		}
	}
	return differences
}

// orNever writes infinite values as words.
func orNever(text string) string {
	for _, infinite := range []string{"+Infx", "+Inf s", "+Inf"} {
		text = strings.ReplaceAll(text, infinite, "not finished")
	}
	return text
}

// ofRounds is a verdict on the median of the rounds. Its note has all rounds.
func ofRounds(judge func(what string, value, bound float64, format string) verdict, what string, values []float64, bound float64,
	format string,
) verdict {
	v := judge(what, median(values), bound, format)
	v.shown = orNever(v.shown)
	if len(values) > 1 {
		v.note = orNever(fmt.Sprintf("%s to %s in %d rounds", fmt.Sprintf(format, lowest(values)),
			fmt.Sprintf(format, highest(values)), len(values)))
	}
	return v
}

// reachVerdicts compare the files with what the project demands of itself beside its rivals.
func reachVerdicts(files map[string]*File) (verdicts []verdict) {
	f := files[measureRivals]
	ours := func(load string) []Run { return f.of(toolMidstream, load) }
	inplace := f.of(toolInplace, loadIdle)
	verdicts = append(verdicts,
		ofRounds(atMost, "idle, default with verify, against native INPLACE",
			paired(ours(loadIdle), inplace, elapsedOrNever), 1.3, "%.2fx"),
		ofRounds(atMost, "idle, `--no-verify`, against native INPLACE",
			paired(f.of(toolNoVerify, loadIdle), inplace, elapsedOrNever), 1.05, "%.2fx"),
		ofRounds(atMost, "idle, verify against the copy", collect(ours(loadIdle), verifyShare), 25, "%.0f %%"))
	for _, share := range []struct {
		load  string
		times float64
	}{{loadTwenty, 2.5}, {loadThirtyFour, 5}} {
		runs, none := ours(share.load), f.of(toolNone, share.load)
		what := strings.TrimSuffix(share.load, "%") + " % of the peak, default: "
		ratios := median(collect(none, p99Ratio))
		verdicts = append(verdicts,
			ofRounds(atMost, what+"elapsed against our own idle",
				paired(runs, ours(loadIdle), elapsedOrNever), share.times, "%.2fx"),
			keptVerdict(what, runs, none, 97),
			ofRounds(atMost, what+"p99, median of the seconds, against before", collect(runs, p99Ratio), 3, "%.2fx").
				adding("without a tool %s", number(ratios, "%.2fx")),
			ofRounds(atMost, what+"p99 of the worst second above the run without a tool",
				pairedDifference(runs, none, worstSecond), 50, "%.0f ms").
				adding("%s, without a tool %s", milliseconds(median(collect(runs, worstSecond))),
					milliseconds(median(collect(none, worstSecond)))))
	}
	for _, load := range []string{loadFullEight, loadFullSixteen} {
		runs := ours(load)
		what := "full speed, " + strings.TrimPrefix(load, "full-") + " threads, default: "
		verdicts = append(verdicts, keptVerdict(what, runs, f.of(toolNone, load), 95),
			ofRounds(atMost, what+"elapsed", collect(runs, elapsedOrNever), 60, "%.1f s"))
	}
	verdicts = append(verdicts,
		verdict{what: "deadline", must: "met in 9 of 10 runs", value: math.NaN(), note: "the bench does not measure it"},
		perRowVerdict(files[measureCost]), costMemoryVerdict(files[measureCost]))
	return append(verdicts, foresightVerdicts(files[measureForecast])...)
}

func keptVerdict(what string, runs, none []Run, bound float64) verdict {
	return ofRounds(atLeast, what+"throughput kept", collect(runs, keptPercent), bound, "%.1f %%").
		adding("without a tool %s", number(median(collect(none, keptPercent)), "%.1f %%"))
}

// adding puts more into the note of a measured value.
func (v verdict) adding(format string, args ...any) verdict {
	if math.IsNaN(v.value) {
		return v
	}
	if v.note != "" {
		v.note += "; "
	}
	v.note += fmt.Sprintf(format, args...)
	return v
}

// perRowVerdict is today's verdict on the cost with the bound of the reach.
func perRowVerdict(f *File) verdict {
	v := costVerdict(f)
	again := atMost(v.what, v.value, 1.1, "%.2fx")
	again.note = v.note
	return again
}

func costMemoryVerdict(f *File) verdict {
	rss := math.NaN()
	if f != nil {
		rss = highest(collect(f.Runs, func(r Run) float64 { return float64(r.ClientRSS) / 1e6 }))
	}
	return atMost("client memory at that size", rss, 100, "%.0f MB").noted("of the same runs")
}

// reach writes the demands of the reach.
func (p *page) reach(files map[string]*File) {
	if files[measureRivals] == nil {
		return
	}
	p.line("## Reach\n")
	for _, doubt := range doubts(map[string]*File{measureRivals: files[measureRivals]}) {
		p.line("- **%s**", doubt)
	}
	p.line("")
	p.judge(reachVerdicts(files))
}

// rivals writes the table of all tools.
func (p *page) rivals(f *File) {
	if f == nil {
		return
	}
	p.line("## The rivals\n")
	for _, threads := range slices.Sorted(maps.Keys(f.Peaks)) {
		p.line("The peak of the server over %d connections: %.0f transactions/s.\n", threads, f.Peaks[threads])
	}
	p.line("p99 is of transactions: the median of the p99 of each second. \"none\" is the same without a tool.\n")
	p.head("load", "tool", "finished", "elapsed s", "against midstream", "throughput kept", "p99 before ms", "p99 during ms",
		"ratio", "worst second before ms", "worst second during ms", "longest statement ms", "client MB")
	for _, load := range rivalLoads() {
		for _, tool := range f.rivalOrder() {
			if runs := f.of(tool, load.name); len(runs) > 0 {
				p.row(rivalCellsOf(load.name, tool, runs, f.of(toolMidstream, load.name))...)
			}
		}
	}
	p.line("")
	p.stages(f)
	p.troubles(f.Runs)
}

// rivalOrder returns the tools of the file: Midstream's first, and each version of it next to the other.
func (f *File) rivalOrder() (tools []string) {
	order := append(rivalNames(), toolNone)
	for _, r := range f.Runs {
		if !slices.Contains(tools, r.Tool) {
			tools = append(tools, r.Tool)
		}
	}
	place := func(tool string) int {
		base, _, _ := strings.Cut(tool, "@")
		return slices.Index(order, base)
	}
	slices.SortStableFunc(tools, func(a, b string) int { return place(a) - place(b) })
	return tools
}

// rivalCellsOf are a line of the table.
func rivalCellsOf(load, tool string, runs, ours []Run) []string {
	finished, elapsed := doneOf(runs), spread(collect(runs, elapsedOf), "%.1f")
	against := number(median(paired(runs, ours, elapsedOrNever)), "%.2fx")
	if copied := collect(runs, copiedShare); len(copied) > 0 {
		finished += fmt.Sprintf(" (%.0f %% copied)", median(copied))
	}
	memory := number(highest(collect(runs, memoryOf)), "%.0f")
	if tool == toolNone {
		finished, elapsed, against = "–", "–", "–"
	}
	return []string{load, tool, finished, elapsed, orNever(against),
		spread(collect(runs, keptPercent), "%.1f %%"),
		number(median(collect(runs, p99Before)), "%.1f"),
		spread(collect(runs, p99During), "%.1f"),
		number(median(collect(runs, p99Ratio)), "%.1fx"),
		number(median(collect(runs, worstBefore)), "%.0f"),
		spread(collect(runs, worstSecond), "%.0f"),
		spread(collect(runs, longestStatement), "%.0f"), memory}
}

// copiedShare is how much of the table a run has copied that did not finish, in percent.
func copiedShare(r Run) float64 {
	if r.Finished || r.Tool == toolNone || r.Before == nil {
		return math.NaN()
	}
	return 100 * ratio(float64(r.Copied), float64(r.Rows))
}

// memoryOf is the most memory that the tool's own process used, in MB. The server's own ALTER has no such process.
func memoryOf(r Run) float64 {
	if r.ClientRSS == 0 {
		return math.NaN()
	}
	return float64(r.ClientRSS) / 1e6
}
