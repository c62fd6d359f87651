package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// toolTrigger is midstream with capture by triggers.
const toolTrigger = "midstream by triggers"

// captureTools are the tools of capture. They copy no row, so the application loses only what their
// capture costs.
var captureTools = []string{toolMidstream, toolTrigger, toolNone, toolPT}

// capture measures what the capture of changes costs the application. Below the peak, the
// foreground runs without capture, and then next to a tool that captures and copies nothing, on the
// same server. At the peak, the tools take turns. pt-osc's triggers write complete rows to the new
// table, in the application's transactions; our triggers write keys. The binlog exists in any case,
// and is read.
func (b *bench) capture(ctx context.Context) (err error) {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	if f.PeakTPS, err = b.peak(ctx); err != nil {
		return err
	}
	b.say("peak: %.0f transactions/s over %d connections", f.PeakTPS, b.threads)
	pausing := filepath.Join(b.dir, "pause")
	if err := os.WriteFile(pausing, nil, 0o644); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(pausing)) }()
	still := append(b.gentle(), "--copy-share=0%")
	tools := map[string]tool{
		toolMidstream: midstreamTool(b.midstream, append(slices.Clone(still), "--capture=binlog"), nil),
		toolTrigger:   midstreamTool(b.midstream, append(slices.Clone(still), "--capture=trigger"), nil),
		toolNone:      idleTool(b.besideWindow),
	}
	if b.programs.ptOSC != nil {
		tools[toolPT] = ptTool(b.programs.ptOSC, "--pause-file="+pausing)
	}
	below := slices.DeleteFunc(b.besideLoads(), besideLoad.peak)
	for round := range b.rounds {
		err := b.overLoads(
			measureCapture, f, below, round, b.captureTools(slices.Clone(captureTools)...),
			func(at scene) (Run, error) { return b.besideRun(ctx, at, tools[at.tool]) },
		)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(b.besideLoads(), besideLoad.peak) {
			continue
		}
		runs, err := b.captureTurns(ctx, round)
		if err != nil {
			return fmt.Errorf("capture, by turns: %w", err)
		}
		f.Runs = append(f.Runs, runs...)
		if err := b.results.save(measureCapture, f); err != nil {
			return err
		}
	}
	return nil
}

// captureVerdict reports how much of its peak throughput the application keeps with our triggers,
// as a multiple of what it keeps with pt-osc's.
func captureVerdict(f *File) verdict {
	kept := func(tool string) float64 { return 100 * median(collect(f.of(tool, loadPeak), besideTPS)) }
	return atLeast(
		"capture alone, at 100% of the peak: throughput with our triggers, compared with pt-osc's",
		kept(toolTrigger)/kept(toolPT), 1, "%.2fx",
	).
		noted(
			"of the throughput on another table: our triggers %s, pt-osc's %s, without a tool %s",
			number(kept(toolTrigger), "%.1f %%"), number(kept(toolPT), "%.1f %%"), number(kept(toolNone), "%.1f %%"),
		)
}

func (p *page) capture(f *File) {
	if f == nil {
		return
	}
	p.line("## What capture costs the application\n")
	p.line(
		"The foreground alone, and then with the tool, on the same server; the tool captures changes and copies no row.",
	)
	p.line("At the peak each tool has its own table on one server, the tables take turns, and \"before\" is a table without a tool. \"none\" shows the difference by chance.\n")
	p.head("load", "tool", "tps before", "tps with the tool", "kept", "p99 before ms", "p99 with the tool ms", "ratio")
	for _, load := range besideLoads {
		for _, tool := range captureTools {
			runs := f.of(tool, load.name)
			if len(runs) == 0 {
				continue
			}
			p.row(besideCells(load.name, tool, runs)...)
		}
	}
	p.line("")
	p.troubles(f.Runs)
}
