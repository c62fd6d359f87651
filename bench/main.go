package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"midstream/internal/lab/sandbox"
)

// bench is one call of the command.
type bench struct {
	options
	build    *sandbox.Build
	programs programs
	base     *base
	results  results
	say      func(string, ...any)
}

func main() {
	o, err := readFlags()
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = carryOut(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// carryOut does what the flags ask for, and makes the report from the results' folder.
func carryOut(ctx context.Context, o options) (err error) {
	b := &bench{options: o}
	start := time.Now()
	b.say = func(format string, args ...any) {
		fmt.Printf("%6.0fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	if b.out == "" {
		b.out = filepath.Join("bench", "results", start.Format(time.DateOnly))
	}
	b.results = results(b.out)
	if len(o.what) > 0 {
		if err := b.measureAll(ctx); err != nil {
			return err
		}
	}
	files, err := b.results.load()
	if err != nil {
		return err
	}
	return writeReport(files, b.out, b.say)
}

// gentle are the arguments of a run that is measured next to an application: its defaults, without
// a comparison.
func (b *bench) gentle() []string {
	return append(slices.Clone(b.midstreamArgs), "--no-verify", "--no-prescan")
}

// unverified are the arguments of a run that does the same work as other tools: no tool checks the
// rows beforehand, compares the tables in the end, or gives way to the application. Other
// measurements show what the comparison costs, and what giving way is worth.
func (b *bench) unverified() []string {
	return append(b.gentle(), "--full-speed")
}

// measureAll prepares and measures. What has been measured is on disk, whatever fails later.
func (b *bench) measureAll(ctx context.Context) (err error) {
	if b.midstream, err = filepath.Abs(b.midstream); err != nil {
		return fmt.Errorf("find midstream: %w", err)
	}
	if _, err := os.Stat(b.midstream); err != nil {
		return fmt.Errorf("find midstream (make build): %w", err)
	}
	cache, err := cacheFolder()
	if err != nil {
		return err
	}
	if b.build, err = sandbox.Fetch(ctx, sandbox.MySQL97, func(what string) { b.say("%s", what) }); err != nil {
		return err
	}
	if b.programs, err = findPrograms(ctx, b.say); err != nil {
		return err
	}
	if err := b.findRivals(ctx, cache); err != nil {
		return err
	}
	unlock, err := takeTurn(cache)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	if b.dir == "" {
		b.dir = cache
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	if b.dir, err = os.MkdirTemp(b.dir, "data-"); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.base, err = prepare(ctx, b.build, b.programs.sysbench, filepath.Join(b.dir, "table"), b.options, b.say); err != nil {
		return err
	}
	all := map[string]func(context.Context) error{
		measureRivals:    b.rivals,
		measurePeers:     b.peers,
		measureApply:     b.apply,
		measureMemory:    b.memory,
		measureRules:     b.rules,
		measureVerify:    b.verification,
		measureCost:      b.cost,
		measureStall:     b.stall,
		measurePredict:   b.predict,
		measureBeside:    b.beside,
		measureTurns:     b.turns,
		measureLag:       b.lag,
		measureCapture:   b.capture,
		measureStatement: b.statement,
		measureForecast:  b.forecast,
		measureDeadline:  b.deadlines,
		measureUndo:      b.undo,
		measureFollower:  b.followers,
		measureParts:     b.partitions,
	}
	for _, name := range measurements() {
		if !slices.Contains(b.what, name) {
			continue
		}
		b.say("measuring: %s", name)
		if err := all[name](ctx); err != nil {
			return err
		}
	}
	return nil
}

// cacheFolder is the bench's part of the project's cache (see internal/lab/sandbox).
func cacheFolder() (string, error) {
	dir := os.Getenv("MIDSTREAM_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a cache folder (set MIDSTREAM_CACHE): %w", err)
		}
		dir = filepath.Join(user, "midstream")
	}
	return filepath.Abs(filepath.Join(dir, "bench-1"))
}

// takeTurn prevents a second bench on this machine, and removes the data that a killed bench left.
func takeTurn(cache string) (unlock func() error, err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, fmt.Errorf("make the cache folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("take the bench's lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another bench is running (%s): %w", f.Name(), err)
	}
	left, _ := filepath.Glob(filepath.Join(cache, "data-*")) // the pattern is well-formed
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			f.Close()
			return nil, fmt.Errorf("remove what a killed bench left: %w", err)
		}
	}
	return f.Close, nil
}

// optionsFor are the options with the rows of the base.
func (b *bench) optionsFor(from *base) options {
	o := b.options
	o.rows = from.rows
	return o
}

// newFile begins the file of a measurement.
func (b *bench) newFile(ctx context.Context, from *base) (*File, error) {
	h, err := b.header(ctx, from)
	return &File{Header: h}, err
}

func (b *bench) header(ctx context.Context, from *base) (h Header, err error) {
	h = Header{At: time.Now().UTC().Truncate(time.Second), Arguments: os.Args[1:], Rows: from.rows, TableBytes: from.bytes,
		Rounds: b.rounds, Threads: b.threads, LoadAverage: loadAverage(), Missing: b.programs.missing,
		Programs: map[string]string{"sysbench": b.programs.sysbench.version}}
	if b.programs.ptOSC != nil {
		h.Programs[toolPT] = b.programs.ptOSC.version
	}
	if commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12").Output(); err == nil {
		h.Commit = strings.TrimSpace(string(commit))
	}
	if h.Machine, err = describeMachine(b.dir); err != nil {
		return h, err
	}
	s, err := from.start(ctx)
	if err != nil {
		return h, err
	}
	h.Variables, err = s.variables(ctx)
	return h, errors.Join(err, s.discard())
}
