package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"midstream/internal/lab/sandbox"
)

// options are the flags.
type options struct {
	rows, rounds, threads, costBase int
	what, loads, toolNames          []string
	limit, lead, after              time.Duration
	minWindow, peakWindow           time.Duration
	probeEvery, hold, besideWindow  time.Duration
	predictRows                     []int
	midstream                       string
	midstreamArgs                   []string
	settings                        map[string]string
	out, dir                        string
}

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

func readFlags() (options, error) {
	o := options{settings: map[string]string{"innodb_buffer_pool_size": "2G"}}
	list := func(to *[]string, name, fallback, what string) {
		*to = strings.Split(fallback, ",")
		flag.Func(name, what+" (default "+fallback+")", func(text string) error {
			if *to = nil; text == "" {
				return nil
			}
			for part := range strings.SplitSeq(text, ",") {
				if !slices.Contains(
					append(
						strings.Split(fallback, ","), measureCost, measurePredict, measureBeside, measureTurns,
						measureLag, measureCapture, measureStatement, loadForty, loadEighty, loadPeak,
					),
					part,
				) {
					return fmt.Errorf("%q is none of %s", part, fallback)
				}
				*to = append(*to, part)
			}
			return nil
		})
	}
	list(
		&o.what, "measure", "peers,apply,memory,rules,verify,stall",
		"what to measure; also: cost, predict, beside, turns, lag, capture, statement; empty: make the report anew",
	)
	list(&o.loads, "loads", "idle,light,heavy,full", "loads of peers, and of predict but for full")
	list(&o.toolNames, "tools", "midstream,pt-osc,native-inplace,native-copy", "tools of peers")
	flag.IntVar(&o.rows, "rows", 1_000_000, "number of rows in the table")
	o.predictRows = []int{100_000, 1_000_000}
	flag.Func("predict-rows", "rows of the tables of predict (default 100000,1000000; 10000000 takes an hour)", func(text string) error {
		o.predictRows = nil
		for part := range strings.SplitSeq(text, ",") {
			rows, err := strconv.Atoi(part)
			if err != nil || rows < 1000 {
				return fmt.Errorf("%q is no number of rows from 1000 on", part)
			}
			o.predictRows = append(o.predictRows, rows)
		}
		return nil
	})
	flag.DurationVar(&o.hold, "hold", time.Minute, "how long the blocker of stall holds the table")
	flag.DurationVar(
		&o.besideWindow, "beside-window", 40*time.Second,
		"how long the foreground of beside, capture and turns runs alone, and how long beside the tool; and how long statement writes",
	)
	flag.IntVar(&o.costBase, "cost-base", 1_000_000, "rows of the table that cost compares --rows with")
	flag.IntVar(&o.rounds, "rounds", 3, "how often everything is measured")
	flag.IntVar(&o.threads, "threads", 16, "connections of the foreground")
	flag.DurationVar(&o.limit, "limit", 10*time.Minute, "time after which a tool counts as not finishing")
	flag.DurationVar(&o.lead, "lead", 8*time.Second, "how long the foreground runs before the tool starts")
	flag.DurationVar(&o.after, "after", 3*time.Second, "and after it has ended")
	flag.DurationVar(&o.minWindow, "window", 15*time.Second, "how long a run without a tool is measured, at least")
	flag.DurationVar(&o.peakWindow, "peak-window", 20*time.Second, "how long the peak is measured")
	flag.DurationVar(&o.probeEvery, "probe-every", 10*time.Millisecond, "pace of the single statements whose waits are measured")
	flag.StringVar(&o.midstream, "midstream", "bin/midstream", "the program to measure")
	flag.Func("midstream-arg", "further argument of midstream run; may be repeated", func(text string) error {
		o.midstreamArgs = append(o.midstreamArgs, text)
		return nil
	})
	flag.Func("set", "name=value of a server variable; may be repeated (default innodb_buffer_pool_size=2G)", func(text string) error {
		name, value, _ := strings.Cut(text, "=")
		o.settings[name] = value
		return nil
	})
	flag.StringVar(&o.out, "out", "", "folder of the results (default bench/results/<date>)")
	flag.StringVar(&o.dir, "dir", "", "folder for the data (default: in the project's cache)")
	flag.Parse()
	if flag.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if o.rows < 1000 || o.costBase < 1000 || o.rounds < 1 || o.threads < 1 || o.probeEvery <= 0 {
		return o, errors.New("--rows and --cost-base are at least 1000; --rounds, --threads and --probe-every at least 1")
	}
	return o, nil
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
