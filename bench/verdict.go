package main

import (
	"fmt"
	"math"
	"slices"
)

// verdict is one requirement of the project and what was measured for it.
type verdict struct {
	what, must string
	value      float64 // NaN: not measured
	met        bool
	shown      string // the value, with its unit
	note       string
}

func (v verdict) word() string {
	switch {
	case math.IsNaN(v.value):
		return "not measured"
	case v.met:
		return "met"
	}
	return "**missed**"
}

func atMost(what string, value, bound float64, format string) verdict {
	return verdict{
		what:  what,
		must:  "at most " + fmt.Sprintf(format, bound),
		value: value,
		met:   value <= bound,
		shown: fmt.Sprintf(format, value),
	}
}

func atLeast(what string, value, bound float64, format string) verdict {
	return verdict{
		what:  what,
		must:  "at least " + fmt.Sprintf(format, bound),
		value: value,
		met:   value >= bound,
		shown: fmt.Sprintf(format, value),
	}
}

func (v verdict) noted(format string, args ...any) verdict {
	v.note = fmt.Sprintf(format, args...)
	return v
}

// ranging notes the ratios of the rounds.
func (v verdict) ranging(ratios []float64) verdict {
	if len(ratios) < 2 {
		return v
	}
	return v.noted("%.2f to %.2f in %d rounds", lowest(ratios), highest(ratios), len(ratios))
}

// verdicts compares the files with the project's requirements.
func verdicts(files map[string]*File) []verdict {
	peers := files[measurePeers]
	idle := peers.of(toolMidstream, loadIdle)
	against := func(tool string, bound float64) verdict {
		ratios := paired(idle, peers.of(tool, loadIdle), elapsedOf)
		return atMost("idle, elapsed compared with "+tool, median(ratios), bound, "%.2fx").ranging(ratios)
	}
	own := func(load string, bound float64) verdict {
		ratios := paired(peers.of(toolMidstream, load), idle, elapsedOf)
		return atMost(load+", elapsed compared with our own idle", median(ratios), bound, "%.2fx").ranging(ratios)
	}
	full, alone := peers.of(toolMidstream, loadFull), peers.of(toolNone, loadFull)
	kept := paired(full, alone, tpsOf)
	inplace := against(toolInplace, 1.4)
	return append([]verdict{
		against(toolPT, 0.6),
		against(toolCopy, 0.8),
		inplace.noted("%s; the aim is 1.00x", inplace.note),
		own(loadLight, 1.3),
		own(loadHeavy, 2.0),
		finishes(peers),
		applyVerdict(files[measureApply]),
		atLeast("full speed, throughput compared with none", 100*median(kept), 70, "%.0f %%").ranging(kept),
		atMost("full speed, longest stall of a statement", highest(collect(full, longestStatement)), 250, "%.0f ms").
			noted("the worst of %d runs; without a tool %s; longest transaction %s, without a tool %s", len(full),
				milliseconds(highest(collect(alone, longestStatement))),
				milliseconds(highest(collect(full, longestTransaction))), milliseconds(highest(collect(alone, longestTransaction)))),
		memoryVerdict(files[measureMemory]),
		cpuVerdict(peers),
		verifyVerdict(files[measureVerify]),
		costVerdict(files[measureCost]),
		stallVerdict(files[measureStall]),
	}, slices.Concat(predictionVerdicts(files[measurePredict]), besideVerdicts(files[measureBeside]),
		turnsVerdicts(files[measureTurns]), []verdict{lagVerdict(files[measureLag]),
			captureVerdict(files[measureCapture]), statementVerdict(files[measureStatement]), deadlineVerdict(files[measureDeadline]),
			undoVerdict(files[measureUndo])})...)
}

// noisy is the share of the machine used by other programs from which a run proves little.
const noisy = 0.05

// doubts are the reasons to doubt the verdicts.
func doubts(files map[string]*File) (reasons []string) {
	for _, name := range measurements() {
		f := files[name]
		if f == nil {
			continue
		}
		if name != measureCost && name != measurePredict && f.Rows != 1_000_000 {
			reasons = append(reasons, fmt.Sprintf("%s: measured with %s rows; the demands are for 1,000,000", name, thousands(f.Rows)))
		}
		if share := f.foreignCPU(); median(share) > noisy {
			reasons = append(reasons, fmt.Sprintf("%s: the machine was not quiet, others used %.0f %% of it (median; at most %.0f %%)",
				name, 100*median(share), 100*highest(share)))
		}
	}
	return reasons
}

// foreignCPU is what other programs used of the machine, run by run.
func (f *File) foreignCPU() []float64 {
	shares := collect(f.Runs, func(r Run) float64 { return r.ForeignCPU })
	return append(shares, collect(f.Apply, func(r ApplyRun) float64 { return r.ForeignCPU })...)
}

// finishes reports whether every run of midstream finished.
func finishes(peers *File) verdict {
	v := verdict{what: "finishes under every load", must: "always", value: math.NaN()}
	if peers == nil {
		return v
	}
	all, done := 0, 0
	for _, r := range peers.Runs {
		if r.Tool == toolMidstream {
			all++
			if r.Finished {
				done++
			}
		}
	}
	if all > 0 {
		v.value, v.met, v.shown = float64(done), done == all, fmt.Sprintf("%d of %d runs", done, all)
	}
	return v
}

// applyVerdict uses the order of rows that is applied more slowly.
func applyVerdict(f *File) verdict {
	worst, order := math.NaN(), ""
	if f != nil {
		for _, o := range []string{orderSequential, orderScattered} {
			rates := collect(f.Apply, func(r ApplyRun) float64 {
				if r.Order != o || r.AppliedPerS == 0 {
					return math.NaN()
				}
				return r.AppliedPerS
			})
			if m := median(rates); !(m >= worst) && !math.IsNaN(m) {
				worst, order = m, o
			}
		}
	}
	v := atLeast("apply, changed rows", worst, 20000, "%.0f/s")
	if order != "" {
		v.note = order + " rows, while there was a backlog"
	}
	return v
}

func memoryVerdict(f *File) verdict {
	rss, backlog := math.NaN(), int64(0)
	if f != nil && len(f.Apply) > 0 {
		backlog = f.Apply[0].PeakBacklogKeys
		rss = float64(f.Apply[0].ClientRSS) / 1e6
	}
	v := atMost("client, memory at a backlog of 1M keys", rss, 100, "%.0f MB")
	if math.IsNaN(rss) {
		return v
	}
	v.note = fmt.Sprintf("backlog of %s keys", thousands(int(backlog)))
	if backlog < 950_000 {
		v.met = false
		v.note += ": too few to say"
	}
	return v
}

func cpuVerdict(peers *File) verdict {
	worst, load := math.NaN(), ""
	for _, l := range []string{loadIdle, loadLight, loadHeavy, loadFull} {
		if share := median(collect(peers.of(toolMidstream, l), cpuShare)); !math.IsNaN(share) && !(share <= worst) {
			worst, load = share, l
		}
	}
	v := atMost("client, CPU compared with mysqld's", 100*worst, 10, "%.1f %%")
	if load != "" {
		v.note = "the worst load: " + load
	}
	return v
}

// verifyVerdict compares the time of the comparison with that of the row copy.
func verifyVerdict(f *File) verdict {
	var shares []float64
	if f != nil {
		shares = collect(f.Runs, func(r Run) float64 {
			if r.Midstream == nil || !r.Finished {
				return math.NaN()
			}
			return 100 * ratio(r.Midstream.VerifyMS, r.Midstream.CopyMS)
		})
	}
	return atMost("idle, verify compared with the row copy", median(shares), 40, "%.0f %%").ranging(shares)
}

func costVerdict(f *File) verdict {
	v := math.NaN()
	rows, beside := 10_000_000, 1_000_000
	if f != nil && len(f.Others) > 0 {
		rows, beside = f.Rows, f.Others[0].Rows
		ofRows := func(is bool) []Run {
			return slices.DeleteFunc(slices.Clone(f.Runs), func(r Run) bool { return (r.Rows == f.Rows) != is })
		}
		v = median(paired(ofRows(true), ofRows(false), func(r Run) float64 { return elapsedOf(r) / float64(r.Rows) }))
	}
	return atMost(fmt.Sprintf("cost per row, %s rows compared with %s", thousands(rows), thousands(beside)), v, 1.15, "%.2fx").
		noted("a run of its own: `--measure cost --rows 10000000`")
}

// elapsedOf is the time of a run that finished, in seconds.
func elapsedOf(r Run) float64 {
	if !r.Finished {
		return math.NaN()
	}
	return r.ElapsedS
}

func tpsOf(r Run) float64 { return ofForeground(r, func(f Foreground) float64 { return f.TPS }) }
func p99Of(r Run) float64 { return ofForeground(r, func(f Foreground) float64 { return f.P99MS }) }
func longestTransaction(r Run) float64 {
	return ofForeground(r, func(f Foreground) float64 { return f.LongestMS })
}

func ofForeground(r Run, of func(Foreground) float64) float64 {
	if r.Foreground == nil {
		return math.NaN()
	}
	return of(*r.Foreground)
}

func longestStatement(r Run) float64 { return r.Probe.LongestMS }
func cpuShare(r Run) float64         { return ratio(r.ClientCPUS, r.ServerCPUS) }
