package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	rows, rounds, threads, costBase int
	what, loads, toolNames          []string
	limit, lead, after              time.Duration
	minWindow, peakWindow           time.Duration
	probeEvery, hold, besideWindow  time.Duration
	rivalsLimit, rivalsBefore       time.Duration
	deadlineRuns                    int
	deadlinePart                    time.Duration
	undoFor                         time.Duration
	undoRate                        float64
	undoMB                          int64
	undoWays, undoUnder             []string
	predictRows                     []int
	midstream                       string
	midstreamArgs                   []string
	settings                        map[string]string
	out, dir                        string
	asked                           []string // names of the flags on the command line
}

func readFlags() (options, error) {
	o := options{settings: map[string]string{"innodb_buffer_pool_size": "2G"}}
	o.names(
		&o.what, "measure", "peers,apply,memory,rules,verify,stall", measurements(),
		"what to measure; also: rivals, cost, predict, beside, turns, lag, capture, statement, forecast, deadline, undo, follower, partitions; empty: write the report again",
	)
	o.names(
		&o.loads, "loads", "idle,light,heavy,full", loadNames(),
		"loads of peers, and of predict (without full); loads of beside: 40%,80%,100%; of rivals: idle,20%,34%,full-8,full-16; "+
			"of forecast: idle,20%,40%,80%",
	)
	o.names(
		&o.toolNames, "tools", "midstream,pt-osc,native-inplace,native-copy", append(rivalNames(), toolCopy),
		"tools of peers; the default of rivals is all its tools, and midstream@PATH is another midstream",
	)
	flag.IntVar(&o.rows, "rows", 1_000_000, "number of rows in the table")
	o.predictRows = []int{100_000, 1_000_000}
	flag.Func("predict-rows", "rows of the tables of predict (default 100000,1000000; 10000000 takes an hour)", func(text string) error {
		o.predictRows = nil
		for part := range strings.SplitSeq(text, ",") {
			rows, err := strconv.Atoi(part)
			if err != nil || rows < 1000 {
				return fmt.Errorf("%q must be a number of rows, at least 1000", part)
			}
			o.predictRows = append(o.predictRows, rows)
		}
		return nil
	})
	flag.DurationVar(&o.hold, "hold", time.Minute, "how long the blocker of stall holds the table")
	flag.DurationVar(
		&o.besideWindow, "beside-window", 40*time.Second,
		"how long the foreground of beside, capture and turns runs alone, and then with the tool; and how long statement writes",
	)
	flag.IntVar(&o.costBase, "cost-base", 1_000_000, "rows of the table that cost compares --rows with")
	flag.IntVar(&o.rounds, "rounds", 3, "number of rounds")
	flag.IntVar(&o.threads, "threads", 16, "connections of the foreground")
	flag.DurationVar(&o.limit, "limit", 10*time.Minute, "time after which a tool counts as not finishing")
	flag.DurationVar(&o.lead, "lead", 8*time.Second, "how long the foreground runs before the tool starts")
	flag.DurationVar(&o.after, "after", 3*time.Second, "how long the foreground runs after the tool has ended")
	flag.DurationVar(&o.rivalsLimit, "rivals-limit", 65*time.Second, "time after which rivals stops a tool")
	flag.DurationVar(&o.rivalsBefore, "rivals-before", 7*time.Second, "how long rivals measures the foreground before the tool")
	flag.IntVar(&o.deadlineRuns, "deadline-runs", 10, "number of runs with a deadline")
	flag.DurationVar(
		&o.deadlinePart, "deadline-part", 0,
		"start no further run of deadline after this time; the same command continues (default: measure all at once)",
	)
	o.names(&o.undoWays, "undo-ways", strings.Join(undoWays(), ","), undoWays(), "ways that undo measures")
	flag.DurationVar(&o.undoFor, "undo-for", 2*time.Minute, "how long the foreground of undo runs between the change and its undo")
	flag.Float64Var(&o.undoRate, "undo-rate", 300, "transactions in a second of that foreground")
	flag.Int64Var(&o.undoMB, "undo-mb", 200, "MiB of binlog that a lazy undo reads; 0 leaves that out")
	flag.Func("undo-under", "command that runs the measured commands of undo, if others use the machine too", func(text string) error {
		o.undoUnder = strings.Fields(text)
		return nil
	})
	flag.DurationVar(&o.minWindow, "window", 15*time.Second, "minimal duration of a run without a tool")
	flag.DurationVar(&o.peakWindow, "peak-window", 20*time.Second, "how long the peak is measured")
	flag.DurationVar(&o.probeEvery, "probe-every", 10*time.Millisecond, "pace of the single statements whose waits are measured")
	flag.StringVar(&o.midstream, "midstream", "bin/midstream", "the program to measure")
	flag.Func("midstream-arg", "additional argument of midstream run; may be repeated", func(text string) error {
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
	flag.Visit(func(f *flag.Flag) { o.asked = append(o.asked, f.Name) })
	if flag.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if o.rows < 1000 || o.costBase < 1000 || o.rounds < 1 || o.threads < 1 || o.probeEvery <= 0 {
		return o, errors.New("--rows and --cost-base must be at least 1000; --rounds and --threads at least 1; --probe-every must be positive")
	}
	return o, nil
}

// names adds a flag that takes a list of names. A name may have more behind an @: midstream@PATH.
func (o *options) names(to *[]string, name, fallback string, known []string, what string) {
	*to = strings.Split(fallback, ",")
	flag.Func(name, what+" (default "+fallback+")", func(text string) error {
		if *to = nil; text == "" {
			return nil
		}
		for part := range strings.SplitSeq(text, ",") {
			if base, _, _ := strings.Cut(part, "@"); !slices.Contains(known, base) {
				return fmt.Errorf("%q must be one of %s", part, strings.Join(known, ","))
			}
			*to = append(*to, part)
		}
		return nil
	})
}

// loadNames are the names of all loads that a measurement may have.
func loadNames() []string {
	names := []string{loadIdle, loadLight, loadHeavy, loadFull, loadForty, loadEighty, loadPeak}
	for _, load := range rivalLoads() {
		if load.name != loadIdle {
			names = append(names, load.name)
		}
	}
	return names
}
