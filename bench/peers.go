package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// The names of the loads.
const (
	loadIdle  = "idle"
	loadLight = "light"
	loadHeavy = "heavy"
	loadFull  = "full"
)

// shareOfPeak is the share of the peak that a load is; 0 means as fast as it can be.
func shareOfPeak(name string) float64 {
	switch name {
	case loadLight:
		return 0.04
	case loadHeavy:
		return 0.40
	}
	return 0
}

// peers measures every tool under every load.
func (b *bench) peers(ctx context.Context) error {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	tools := b.tools()
	for round := range b.rounds {
		for _, load := range b.loads {
			if f.PeakTPS == 0 && shareOfPeak(load) > 0 {
				if f.PeakTPS, err = b.peak(ctx); err != nil {
					return err
				}
				b.say("peak: %.0f transactions/s over %d connections", f.PeakTPS, b.threads)
			}
			rate := f.PeakTPS * shareOfPeak(load)
			window := b.minWindow
			for _, name := range append(rotate(b.toolNames, round), toolNone) {
				change, ok := tools[name]
				if name == toolNone {
					change, ok = idleTool(window), true
				}
				if !ok {
					continue
				}
				r, err := b.measure(ctx, b.base, scene{tool: name, load: load, rate: rate, round: round}, change)
				if err != nil {
					return fmt.Errorf("%s under load %s: %w", name, load, err)
				}
				if name == toolMidstream {
					window = max(window, time.Duration(r.ElapsedS*float64(time.Second)))
				}
				f.Runs = append(f.Runs, r)
				if err := b.results.save(measurePeers, f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// tools are the tools that are available.
func (b *bench) tools() map[string]tool {
	tools := map[string]tool{
		toolMidstream: midstreamTool(b.midstream, b.unverified(), nil),
		toolInplace:   nativeTool("ENGINE=InnoDB, ALGORITHM=INPLACE, LOCK=NONE"), // otherwise it would be instant
		toolCopy:      nativeTool("ALGORITHM=COPY"),
	}
	if b.programs.ptOSC != nil {
		tools[toolPT] = ptTool(b.programs.ptOSC)
	}
	return tools
}

// idleTool is no tool, for as long as a tool would take.
func idleTool(window time.Duration) tool {
	return func(ctx context.Context, _ *server) usage {
		start := time.Now()
		err := pause(ctx, window)
		return usage{elapsed: time.Since(start), err: err}
	}
}

// peak is what sysbench achieves on a server that does nothing else, in transactions a second.
func (b *bench) peak(ctx context.Context) (float64, error) {
	r, err := b.measure(ctx, b.base, scene{tool: toolNone, load: loadFull}, idleTool(b.peakWindow))
	if err != nil {
		return 0, fmt.Errorf("measure the peak: %w", err)
	}
	return r.Foreground.TPS, nil
}

// scene is the conditions under which a tool is measured.
type scene struct {
	tool, load string
	rate       float64
	round      int
	before     time.Duration // how long the foreground is measured before the tool; 0 for not at all
}

// measure lets a tool change a fresh table. err is the bench's own error; the tool's error is in
// the Run.
func (b *bench) measure(ctx context.Context, from *base, at scene, change tool) (r Run, err error) {
	s, err := from.start(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	r = Run{Tool: at.tool, Load: at.load, RateTPS: at.rate, Round: at.round, Rows: from.rows}

	var foreground *load
	if at.load != loadIdle {
		if foreground, err = startLoad(ctx, b.programs.sysbench, s, b.optionsFor(from), at.rate); err != nil {
			return r, err
		}
	}
	prober := startProber(s, b.optionsFor(from), probers)
	err = pause(ctx, b.lead+at.before)
	if err == nil && foreground != nil && foreground.died() != "" {
		err = errors.New(foreground.died()) // later, the tool causes it
	}
	if err == nil {
		err = b.observeRun(ctx, s, foreground, &r, change)
	}
	if err == nil {
		// What began during the tool's work must end.
		err = pause(ctx, b.after)
	}
	to := r.At.Add(time.Duration(r.ElapsedS * float64(time.Second)))
	if foreground != nil {
		f, trace, stopErr := foreground.end(r.At, to)
		r.Foreground, err = &f, errors.Join(err, stopErr)
		if at.before > 0 {
			r.compare(trace, r.At.Add(-at.before), to)
		}
		if r.Midstream != nil {
			r.Midstream.feel(trace, to)
		}
	}
	r.Probe = prober.stop(r.At, to)
	if err == nil && at.before > 0 && !r.Finished {
		r.Copied, err = s.copied(ctx, false, from.rows)
	}
	if err != nil {
		return r, err
	}
	b.say("%s", r.line())
	return r, nil
}

// compare adds the foreground's figures of the time before the tool, and of each second.
func (r *Run) compare(trace []transaction, since, to time.Time) {
	before := summarise(trace, since.UnixMicro(), r.At.UnixMicro())
	before.SecondsP99MS = secondsP99(trace, since.UnixMicro(), r.At.UnixMicro())
	r.Before, r.Foreground.SecondsP99MS = &before, secondsP99(trace, r.At.UnixMicro(), to.UnixMicro())
}

// observeRun runs the tool within its time limit and records what it took.
func (b *bench) observeRun(ctx context.Context, s *server, foreground *load, r *Run, change tool) error {
	binlog, err := s.binlogBytes(ctx)
	if err != nil {
		return err
	}
	meter := startMeter(s, foreground)
	limited, cancel := context.WithTimeout(ctx, b.limit)
	defer cancel()
	r.At = time.Now()
	u := change(limited, s)
	meter.read(u, r)
	r.ElapsedS, r.ClientCPUS, r.ClientRSS, r.Midstream = u.elapsed.Seconds(), u.cpu.Seconds(), u.rss, u.result
	r.Finished = u.err == nil
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u.err != nil {
		r.Error = u.err.Error()
		if limited.Err() != nil {
			r.Error = fmt.Sprintf("not finished after %s: %s", b.limit, r.Error)
		}
	}
	after, err := s.binlogBytes(ctx)
	r.BinlogBytes = after - binlog
	return err
}

// observeFor is observeRun for a tool that need not finish within a time.
func (b *bench) observeFor(ctx context.Context, within time.Duration, s *server, foreground *load, r *Run, change tool) error {
	window, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := b.observeRun(window, s, foreground, r, change)
	if window.Err() != nil && ctx.Err() == nil {
		r.Error = ""
		return nil
	}
	return err
}

// meter reads how much each process used the processor.
type meter struct {
	server, load, self, machine time.Duration

	pid, loadPID int
	at           time.Time
}

func startMeter(s *server, foreground *load) meter {
	m := meter{pid: s.db.PID(), at: time.Now(), self: cpuOfSelf(), machine: cpuOfMachine()}
	if foreground != nil {
		m.loadPID = foreground.cmd.Process.Pid
		m.load = cpuOf(m.loadPID)
	}
	m.server = cpuOf(m.pid)
	return m
}

func (m meter) read(u usage, r *Run) {
	server := cpuOf(m.pid) - m.server
	r.ServerCPUS = server.Seconds()
	r.ForeignCPU = m.foreign(server + u.cpu)
}

// foreign is the share of the machine that other programs have used since the start. ours is what
// the server and the tool used.
func (m meter) foreign(ours time.Duration) float64 {
	ours += cpuOfSelf() - m.self
	if m.loadPID != 0 {
		ours += max(cpuOf(m.loadPID)-m.load, 0)
	}
	all := time.Since(m.at).Seconds() * float64(runtime.NumCPU())
	return max(0, ratio((cpuOfMachine()-m.machine-ours).Seconds(), all))
}

// line is the run in one line, for people who wait.
func (r Run) line() string {
	text := fmt.Sprintf("round %d  %-6s %-16s %7.2f s", r.Round+1, r.Load, r.Tool, r.ElapsedS)
	if r.Foreground != nil {
		text += fmt.Sprintf("  %6.0f tps, longest transaction %.0f ms", r.Foreground.TPS, r.Foreground.LongestMS)
	}
	text += fmt.Sprintf(", longest statement %.0f ms", r.Probe.LongestMS)
	if r.Error != "" {
		text += "  " + r.Error
	}
	if r.Foreground != nil && r.Foreground.Died != "" {
		text += "  " + r.Foreground.Died
	}
	return text
}

// of returns the runs of a tool under a load.
func (f *File) of(tool, load string) []Run {
	if f == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.Runs), func(r Run) bool { return r.Tool != tool || r.Load != load })
}
