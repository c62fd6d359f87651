package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"time"
)

// How a tool works and is stopped in turns. Other things that slow a server down (most of all the
// disk of a shared machine) last for longer than one turn, and so affect both.
const (
	turnFor = 4 * time.Second
	// turnEdge is the beginning of a turn, which does not count.
	turnEdge = 300 * time.Millisecond
	turnWarm = 10 * time.Second // before the first
)

// Turns is what the application did while the tool worked, and while it was stopped.
type Turns struct {
	Working  Foreground `json:"working"`
	Held     Foreground `json:"held"`
	WorkingS float64    `json:"working_s"` // from the tool's beginning
}

// turn is one turn.
type turn struct {
	from, to time.Time
	working  bool
}

// turns measures what the application loses next to midstream, which works and is paused in turns.
// The same turns without a tool show what differs by chance.
func (b *bench) turns(ctx context.Context) error {
	return b.inRounds(ctx, measureTurns, b.besideLoads(), []string{toolMidstream, toolNone}, b.turnsRun)
}

// turnsRun runs the foreground next to the tool for two windows, in turns.
func (b *bench) turnsRun(ctx context.Context, at scene) (r Run, err error) {
	s, err := b.base.start(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	folder, err := os.MkdirTemp("", "midstream-bench")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(folder)
	r = Run{Tool: at.tool, Load: at.load, RateTPS: at.rate, Round: at.round, Rows: b.base.rows}
	foreground, err := startLoad(ctx, b.programs.sysbench, s, b.options, at.rate)
	if err != nil {
		return r, err
	}
	window := turnWarm + 2*b.besideWindow
	change, command := idleTool(window), func(context.Context, string) error { return nil }
	if at.tool == toolMidstream {
		change = midstreamTool(b.midstream, append(b.gentle(), "--control-dir="+folder), nil)
		command = func(ctx context.Context, verb string) error {
			said, err := exec.CommandContext(ctx, b.midstream, verb, table, "--control-dir="+folder).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%s: %w: %s", verb, err, tail(string(said)))
			}
			return nil
		}
	}
	var taken []turn
	if err = pause(ctx, b.lead); err == nil {
		limited, cancel := context.WithTimeout(ctx, window)
		done := make(chan error, 1)
		go func() { done <- takeTurns(limited, command, &taken) }()
		err = b.observeFor(ctx, window, s, foreground, &r, change)
		cancel()
		err = errors.Join(err, <-done)
	}
	trace, died, stopErr := foreground.stop()
	if died != "" {
		stopErr = errors.Join(stopErr, errors.New(died))
	}
	if err = errors.Join(err, stopErr); err != nil {
		return r, err
	}
	r.Turns = turnsOf(trace, taken)
	r.Turns.WorkingS = r.ElapsedS
	for _, t := range taken {
		if !t.working {
			r.Turns.WorkingS -= t.to.Sub(t.from).Seconds() + turnEdge.Seconds()
		}
	}
	if at.tool != toolNone {
		if r.Copied, err = s.copied(ctx, r.Finished, b.base.rows); err != nil {
			return r, err
		}
	}
	b.say("round %d  %-6s %-10s %8d rows copied, tps %.0f -> %.0f (%.1f %%), p99 %.1f -> %.1f ms (%.2fx)", r.Round+1, r.Load, r.Tool,
		r.Copied, r.Turns.Held.TPS, r.Turns.Working.TPS, 100*turnsTPS(r), r.Turns.Held.P99MS, r.Turns.Working.P99MS, turnsP99(r))
	return r, nil
}

// takeTurns lets the tool work and pause in turns until ctx ends.
func takeTurns(ctx context.Context, command func(ctx context.Context, verb string) error, taken *[]turn) error {
	if pause(ctx, turnWarm) != nil {
		return nil
	}
	for working := true; ; working = !working {
		from := time.Now().Add(turnEdge)
		if pause(ctx, turnFor) != nil {
			return nil
		}
		*taken = append(*taken, turn{from, time.Now(), working})
		verb := "pause"
		if !working {
			verb = "resume"
		}
		if err := command(ctx, verb); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// turnsOf assigns transactions to the turn in which they began.
func turnsOf(trace []transaction, taken []turn) *Turns {
	var t Turns
	for _, of := range []struct {
		working bool
		into    *Foreground
	}{{true, &t.Working}, {false, &t.Held}} {
		var waits []float64
		var seconds float64
		committed := 0
		for _, turn := range taken {
			if turn.working != of.working {
				continue
			}
			seconds += turn.to.Sub(turn.from).Seconds()
			from, to := turn.from.UnixMicro(), turn.to.UnixMicro()
			for _, x := range trace {
				if end := x.at + x.took; end > from && end <= to && !x.failed {
					committed++
				}
				if x.at >= from && x.at < to {
					waits = append(waits, float64(x.took)/1e3)
					if x.failed {
						of.into.Failed++
					}
				}
			}
		}
		of.into.TPS = ratio(float64(committed), seconds)
		if len(waits) > 0 {
			of.into.P99MS, of.into.LongestMS = percentile(waits, 99), highest(waits)
		}
	}
	return &t
}

func turnsP99(r Run) float64 {
	return ofTurns(r, func(f Foreground) float64 { return f.P99MS })
}

func turnsTPS(r Run) float64 {
	return ofTurns(r, func(f Foreground) float64 { return f.TPS })
}

// ofTurns is the ratio of a figure while the tool works to the figure while it is stopped.
func ofTurns(r Run, of func(Foreground) float64) float64 {
	if r.Turns == nil {
		return math.NaN()
	}
	return ratio(of(r.Turns.Working), of(r.Turns.Held))
}

func turnsPace(r Run) float64 {
	if r.Turns == nil || r.Tool == toolNone {
		return math.NaN()
	}
	return ratio(float64(r.Copied), r.Turns.WorkingS)
}

// turnsVerdicts report what the application lost.
func turnsVerdicts(f *File) (verdicts []verdict) {
	for _, load := range besideLoads {
		ours, none := f.of(toolMidstream, load.name), f.of(toolNone, load.name)
		most := 97.0
		if load.name == loadPeak {
			most = 90
		}
		kept := func(r Run) float64 { return 100 * turnsTPS(r) }
		verdicts = append(
			verdicts,
			atMost(
				"at "+load.name+" of the peak, p99 by turns", median(collect(ours, turnsP99)), 1.2, "%.2fx",
			).noted(
				"rounds %s; without a tool %s", spread(collect(ours, turnsP99), "%.2fx"),
				spread(collect(none, turnsP99), "%.2fx"),
			),
			atLeast(
				"at "+load.name+" of the peak, throughput by turns", median(collect(ours, kept)), most, "%.1f %%",
			).noted(
				"rounds %s; without a tool %s", spread(collect(ours, kept), "%.1f %%"),
				spread(collect(none, kept), "%.1f %%"),
			),
		)
	}
	return verdicts
}

func (p *page) turns(f *File) {
	if f == nil {
		return
	}
	p.line("## What the application loses, by turns\n")
	p.line(
		"Midstream works and pauses in turns of %s, so that other load on the server affects both equally. \"none\": the same turns with nothing in them.\n",
		turnFor,
	)
	p.head("load", "tool", "tps paused", "tps at work", "kept", "p99 paused ms", "p99 at work ms", "ratio", "rows copied/s")
	for _, load := range besideLoads {
		for _, tool := range []string{toolMidstream, toolNone} {
			runs := slices.DeleteFunc(f.of(tool, load.name), func(r Run) bool { return r.Turns == nil })
			if len(runs) == 0 {
				continue
			}
			middle := func(of func(*Turns) float64) string {
				return number(median(collect(runs, func(r Run) float64 { return of(r.Turns) })), "%.1f")
			}
			p.row(
				load.name, tool, middle(func(t *Turns) float64 { return t.Held.TPS }),
				middle(func(t *Turns) float64 { return t.Working.TPS }),
				spread(collect(runs, func(r Run) float64 { return 100 * turnsTPS(r) }), "%.1f %%"),
				middle(func(t *Turns) float64 { return t.Held.P99MS }),
				middle(func(t *Turns) float64 { return t.Working.P99MS }), spread(collect(runs, turnsP99), "%.2fx"),
				spread(collect(runs, turnsPace), "%.0f"),
			)
		}
	}
	p.line("")
	p.troubles(f.Runs)
}
