package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The names of the tools of stall, in addition to those of peers.
const (
	toolInstant = "midstream-instant"
	toolByHand  = "by-hand"
)

// stallConnections is how many connections query the table while a transaction holds it.
const stallConnections = 20

// stall measures how long queries wait while a transaction that has read the table stays open, and
// a tool changes the table: the case behind every report about metadata locks.
func (b *bench) stall(ctx context.Context) error {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	names := []string{toolNone, toolInstant, toolMidstream, toolByHand}
	tools := map[string]tool{
		toolNone:      idleTool(b.hold),
		toolInstant:   midstreamTool(b.midstream, append(b.midstreamArgs, "--method=auto"), nil),
		toolMidstream: midstreamTool(b.midstream, b.unverified(), nil),
		toolByHand:    nativeTool("ALGORITHM=INSTANT"),
	}
	if b.programs.ptOSC != nil {
		names, tools[toolPT] = append(names, toolPT), ptTool(b.programs.ptOSC)
	}
	for round := range b.rounds {
		for _, name := range rotate(names, round) {
			r, err := b.stallRun(ctx, scene{tool: name, load: loadIdle, round: round}, tools[name])
			if err != nil {
				return fmt.Errorf("stall, %s: %w", name, err)
			}
			f.Runs = append(f.Runs, r)
			if err := b.results.save(measureStall, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// stallRun lets a tool change a fresh table while a transaction holds it. err is the bench's own
// error; the tool's error is in the Run.
func (b *bench) stallRun(ctx context.Context, at scene, change tool) (r Run, err error) {
	s, err := b.base.start(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	r = Run{Tool: at.tool, Load: at.load, Round: at.round, Rows: b.base.rows}
	prober := startProber(s, b.options, stallConnections)
	held, err := s.hold(ctx)
	if err == nil {
		err = pause(ctx, time.Second)
	}
	if err != nil {
		prober.stop(time.Now(), time.Now())
		return r, err
	}
	released := time.AfterFunc(b.hold, held)
	err = b.observeRun(ctx, s, nil, &r, change)
	released.Stop()
	held()
	err = errors.Join(err, pause(ctx, time.Second))
	r.Probe = prober.stop(r.At, r.At.Add(time.Duration(r.ElapsedS*float64(time.Second))))
	b.say("%s", r.line())
	return r, err
}

// hold opens a transaction that has read the table, and returns a function that ends it.
func (s *server) hold(ctx context.Context) (release func(), err error) {
	tx, err := s.sql.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return nil, fmt.Errorf("hold the table: %w", err)
	}
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+table+" LIMIT 1) t").Scan(&n); err != nil {
		return nil, errors.Join(fmt.Errorf("hold the table: %w", err), tx.Rollback())
	}
	return func() { _ = tx.Rollback() }, nil
}

// stallVerdict is the longest stall with the bounded lock.
func stallVerdict(f *File) verdict {
	worst := highest(
		append(collect(f.of(toolInstant, loadIdle), longestStatement), collect(f.of(toolMidstream, loadIdle), longestStatement)...),
	)
	v := atMost("60 s blocker, longest stall of a statement", worst, 400, "%.0f ms")
	if f != nil {
		v.note = fmt.Sprintf(
			"by hand %s; pt-osc %s; without a tool %s",
			milliseconds(median(collect(f.of(toolByHand, loadIdle), longestStatement))),
			milliseconds(
				median(collect(f.of(toolPT, loadIdle), longestStatement)),
			),
			milliseconds(median(collect(f.of(toolNone, loadIdle), longestStatement))),
		)
	}
	return v
}

func (p *page) stall(f *File) {
	if f == nil {
		return
	}
	p.line("## Stalls behind a blocker\n")
	p.line(
		"%d connections query the table while a transaction that has read it stays open; the tool starts during that time.\n",
		stallConnections,
	)
	p.head("tool", "finished", "elapsed s", "longest statement ms", "p99 ms", "statements failed")
	for _, tool := range []string{toolNone, toolInstant, toolMidstream, toolByHand, toolPT} {
		runs := f.of(tool, loadIdle)
		if len(runs) == 0 {
			continue
		}
		p.row(tool, doneOf(runs), spread(collect(runs, elapsedOf), "%.1f"), spread(collect(runs, longestStatement), "%.0f"),
			spread(collect(runs, func(r Run) float64 { return r.Probe.P99MS }), "%.1f"),
			number(highest(collect(runs, func(r Run) float64 { return float64(r.Probe.Errors) })), "%.0f"))
	}
	p.line("")
	p.troubles(f.Runs)
}
