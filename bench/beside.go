package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// The loads of beside, as shares of the peak. At the last one the foreground is as fast as it can
// be.
const (
	loadForty  = "40%"
	loadEighty = "80%"
	loadPeak   = "100%"
)

type besideLoad struct {
	name  string
	share float64
}

// besideLoads are the loads with their shares of the peak; 0 means as fast as it can be.
var besideLoads = []besideLoad{{loadForty, 0.40}, {loadEighty, 0.80}, {loadPeak, 0}}

// peak reports whether the foreground is as fast as it can be.
func (l besideLoad) peak() bool { return l.share == 0 }

// besideLoads are the loads that the flags ask for; all, if they ask for none.
func (b *bench) besideLoads() []besideLoad {
	asked := slices.DeleteFunc(slices.Clone(besideLoads), func(l besideLoad) bool { return !slices.Contains(b.loads, l.name) })
	if len(asked) == 0 {
		return besideLoads
	}
	return asked
}

// beside measures what the application loses while a tool is at work. The foreground runs without
// the tool, and then next to it, on the same server.
func (b *bench) beside(ctx context.Context) error {
	f, err := b.fileOfLoads(ctx)
	if err != nil {
		return err
	}
	tools := b.tools()
	tools[toolMidstream] = midstreamTool(b.midstream, b.gentle(), nil)
	names := slices.DeleteFunc([]string{toolMidstream, toolNone, toolPT}, func(name string) bool {
		return !slices.Contains(append(b.toolNames, toolNone), name) || name == toolPT && b.programs.ptOSC == nil
	})
	tools[toolNone] = idleTool(b.besideWindow)
	for round := range b.rounds {
		err := b.overLoads(
			measureBeside, f, b.besideLoads(), round, names,
			func(at scene) (Run, error) { return b.besideRun(ctx, at, tools[at.tool]) },
		)
		if err != nil {
			return err
		}
		if len(b.besideLoads()) < len(besideLoads) {
			continue // the step was not asked for
		}
		r, err := b.step(ctx, scene{tool: toolMidstream, load: loadStep, rate: 0.40 * f.PeakTPS, round: round})
		if err != nil {
			return fmt.Errorf("beside, a step of the load: %w", err)
		}
		f.Runs = append(f.Runs, r)
		if err := b.results.save(measureBeside, f); err != nil {
			return err
		}
	}
	return nil
}

// fileOfLoads returns a new file with the peak, of which the loads are parts.
func (b *bench) fileOfLoads(ctx context.Context) (*File, error) {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return nil, err
	}
	if f.PeakTPS, err = b.peak(ctx); err != nil {
		return nil, err
	}
	b.say("peak: %.0f transactions/s over %d connections", f.PeakTPS, b.threads)
	return f, nil
}

// inRounds runs each tool under each of the loads, again in each round.
func (b *bench) inRounds(
	ctx context.Context, measure string, loads []besideLoad, tools []string, do func(context.Context, scene) (Run, error),
) error {
	f, err := b.fileOfLoads(ctx)
	if err != nil {
		return err
	}
	for round := range b.rounds {
		if err := b.overLoads(measure, f, loads, round, tools, func(at scene) (Run, error) { return do(ctx, at) }); err != nil {
			return err
		}
	}
	return nil
}

// overLoads runs each tool under each of the loads, and saves the results.
func (b *bench) overLoads(measure string, f *File, loads []besideLoad, round int, tools []string, do func(scene) (Run, error)) error {
	for _, load := range loads {
		for _, name := range rotate(tools, round) {
			r, err := do(scene{tool: name, load: load.name, rate: load.share * f.PeakTPS, round: round})
			if err != nil {
				return fmt.Errorf("%s, %s at %s: %w", measure, name, load.name, err)
			}
			f.Runs = append(f.Runs, r)
			if err := b.results.save(measure, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// besideRun runs the foreground alone for a window, and then next to the tool for another window,
// or until the tool is done.
func (b *bench) besideRun(ctx context.Context, at scene, change tool) (r Run, err error) {
	s, err := b.base.start(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	r = Run{Tool: at.tool, Load: at.load, RateTPS: at.rate, Round: at.round, Rows: b.base.rows}
	foreground, err := startLoad(ctx, b.programs.sysbench, s, b.options, at.rate)
	if err != nil {
		return r, err
	}
	if err = pause(ctx, b.lead+b.besideWindow); err == nil && foreground.died() != "" {
		err = errors.New(foreground.died())
	}
	if err == nil {
		err = b.observeFor(ctx, b.besideWindow, s, foreground, &r, change)
	}
	to := r.At.Add(time.Duration(r.ElapsedS * float64(time.Second)))
	with, trace, stopErr := foreground.end(r.At, to)
	if err = errors.Join(err, stopErr); err != nil {
		return r, err
	}
	before := summarise(trace, r.At.Add(-b.besideWindow).UnixMicro(), r.At.UnixMicro())
	r.Foreground, r.Before = &with, &before
	if at.tool != toolNone {
		if r.Copied, err = s.copied(ctx, r.Finished, b.base.rows); err != nil {
			return r, err
		}
	}
	b.say(
		"round %d  %-6s %-10s %5.1f s, %8d rows copied, tps %.0f -> %.0f (%.1f %%), p99 %.1f -> %.1f ms (%.2fx)",
		r.Round+1, r.Load, r.Tool, r.ElapsedS, r.Copied, before.TPS, with.TPS, 100*with.TPS/before.TPS, before.P99MS,
		with.P99MS, with.P99MS/before.P99MS,
	)
	return r, nil
}

// copied is how many rows an unfinished tool has copied: the rows of the largest other table.
func (s *server) copied(ctx context.Context, finished bool, rows int) (int64, error) {
	if finished {
		return int64(rows), nil
	}
	names, err := s.sql.QueryContext(
		ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = ? AND table_name <> ?", database,
		tableName,
	)
	if err != nil {
		return 0, fmt.Errorf("find the tool's tables: %w", err)
	}
	var tables []string
	for names.Next() {
		var name string
		if err := names.Scan(&name); err != nil {
			return 0, errors.Join(fmt.Errorf("find the tool's tables: %w", err), names.Close())
		}
		tables = append(tables, name)
	}
	if err := names.Err(); err != nil {
		return 0, fmt.Errorf("find the tool's tables: %w", err)
	}
	var most int64
	for _, name := range tables {
		var n int64
		if err := s.sql.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+database+".`"+name+"`").Scan(&n); err != nil {
			return 0, fmt.Errorf("count what was copied: %w", err)
		}
		most = max(most, n)
	}
	return most, nil
}

// besideVerdicts report what the application lost.
func besideVerdicts(f *File) (verdicts []verdict) {
	for _, load := range besideLoads {
		ours := f.of(toolMidstream, load.name)
		note := func(of func(Run) float64, format string) string {
			return fmt.Sprintf(
				"without a tool %s; pt-osc %s", number(median(collect(f.of(toolNone, load.name), of)), format),
				number(median(collect(f.of(toolPT, load.name), of)), format),
			)
		}
		most := 97.0
		if load.name == loadPeak {
			most = 90
		}
		slowed, kept := besideP99, func(r Run) float64 { return 100 * besideTPS(r) }
		verdicts = append(
			verdicts,
			atMost(
				"at "+load.name+" of the peak, p99 compared with the time before", median(collect(ours, slowed)), 1.2,
				"%.2fx",
			).noted(
				"%s", note(slowed, "%.2fx"),
			),
			atLeast(
				"at "+load.name+" of the peak, throughput compared with the time before", median(collect(ours, kept)), most,
				"%.1f %%",
			).noted(
				"%s", note(kept, "%.1f %%"),
			),
			atLeast(
				"at "+load.name+" of the peak, rows copied a second", lowest(collect(ours, copiedPerS)), 1, "%.0f",
			).noted(
				"pt-osc %s", number(median(collect(f.of(toolPT, load.name), copiedPerS)), "%.0f"),
			),
		)
	}
	steps := f.of(toolMidstream, loadStep)
	return append(verdicts,
		atMost("a step of the load from 40 % to 100 %, slowed down after", highest(collect(steps, gaveWay)), 2, "%.1f s"),
		atMost("the load gone, full speed after", highest(collect(steps, speededUp)), 3, "%.1f s"))
}

func besideP99(r Run) float64 {
	return ofBoth(r, func(f Foreground) float64 { return f.P99MS })
}

func besideTPS(r Run) float64 {
	return ofBoth(r, func(f Foreground) float64 { return f.TPS })
}

// ofBoth is the ratio of a figure next to the tool to the figure before it.
func ofBoth(r Run, of func(Foreground) float64) float64 {
	if r.Foreground == nil || r.Before == nil {
		return math.NaN()
	}
	return ratio(of(*r.Foreground), of(*r.Before))
}

func copiedPerS(r Run) float64 {
	if r.Before == nil || r.Tool == toolNone {
		return math.NaN()
	}
	return ratio(float64(r.Copied), r.ElapsedS)
}

// besideCells are a line of a table: the foreground's figures before the tool, and next to it.
func besideCells(load, tool string, runs []Run) []string {
	before := func(of func(Foreground) float64) string {
		return number(median(collect(runs, func(r Run) float64 { return of(*r.Before) })), "%.1f")
	}
	return []string{
		load,
		tool,
		before(func(f Foreground) float64 { return f.TPS }),
		number(median(collect(runs, tpsOf)), "%.1f"),
		spread(collect(runs, func(r Run) float64 { return 100 * besideTPS(r) }), "%.1f %%"),
		before(
			func(f Foreground) float64 { return f.P99MS },
		),
		number(median(collect(runs, p99Of)), "%.1f"),
		spread(collect(runs, besideP99), "%.2fx"),
	}
}

func (p *page) beside(f *File) {
	if f == nil {
		return
	}
	p.line("## What the application loses\n")
	p.line("The foreground alone, and then with the tool, on the same server; \"none\" shows the difference by chance.\n")
	p.head("load", "tool", "tps before", "tps with the tool", "kept", "p99 before ms", "p99 with the tool ms", "ratio", "rows copied/s")
	for _, load := range besideLoads {
		for _, tool := range []string{toolMidstream, toolPT, toolNone} {
			runs := f.of(tool, load.name)
			if len(runs) == 0 {
				continue
			}
			p.row(append(besideCells(load.name, tool, runs), spread(collect(runs, copiedPerS), "%.0f"))...)
		}
	}
	p.line("")
	p.steps(f)
	p.troubles(f.Runs)
}
