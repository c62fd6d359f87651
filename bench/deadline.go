package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// Deadline is a run with a deadline, or one at a fixed limit with which such runs are compared. Limits
// are factors on the default --max-slowdown.
type Deadline struct {
	Schedule int     `json:"schedule"`           // of the load
	Fixed    float64 `json:"fixed,omitempty"`    // the limit of a run without a deadline
	WithinS  float64 `json:"within_s,omitempty"` // --finish-within
	// Wanted is the fixed limit that would just have met the deadline, by the runs at fixed limits.
	Wanted float64 `json:"wanted,omitempty"`
	// MeanFactor is the mean limit over the time of the run, between Lowest and Highest.
	MeanFactor float64 `json:"mean_factor,omitempty"`
	Lowest     float64 `json:"lowest,omitempty"`
	Highest    float64 `json:"highest,omitempty"`
	LateS      float64 `json:"late_s,omitempty"` // negative: before the deadline
	// Path is how the limit and the work went on.
	Path []LimitAt `json:"path,omitempty"`
}

// LimitAt is the limit of a run at a moment, and what it had done.
type LimitAt struct {
	AtS      float64 `json:"at_s"` // since the tool began
	Phase    string  `json:"phase"`
	Factor   float64 `json:"factor"`
	Workers  float64 `json:"workers"`
	Rows     int64   `json:"rows"`     // copied
	Verified int64   `json:"verified"` // compared
}

// schedules is the number of loads that change in different ways.
const schedules = 2

// fixedFactors returns the limits of the runs without a deadline, under each schedule.
func fixedFactors() []float64 { return []float64{1, 2.5, 0.5} }

// The default of --max-slowdown is this times 1.
const (
	usualPercent      = 5.0
	usualMilliseconds = 0.2
)

// deadlines measures whether runs meet their deadlines next to a load that changes, and how far their
// mean limit is from the fixed one that would just have met it. If the results' folder has a part of it,
// the rest is measured.
func (b *bench) deadlines(ctx context.Context) error {
	began := time.Now()
	files, err := b.results.load()
	if err != nil {
		return err
	}
	f := files[measureDeadline]
	if f == nil || f.Rows != b.base.rows || f.Threads != b.threads {
		if f, err = b.newFile(ctx, b.base); err != nil {
			return err
		}
		if f.PeakTPS, err = b.peak(ctx); err != nil {
			return err
		}
		b.say("peak: %.0f transactions/s over %d connections", f.PeakTPS, b.threads)
	}
	for {
		next, some := f.nextDeadline(b.deadlineRuns)
		switch {
		case !some:
			return nil
		case b.deadlinePart > 0 && time.Since(began) > b.deadlinePart:
			b.say("deadline: the same command continues")
			return nil
		}
		r, err := b.deadlineRun(ctx, f.PeakTPS, next, len(f.Runs))
		if err != nil {
			return fmt.Errorf("deadline: %w", err)
		}
		f.Runs = append(f.Runs, r)
		if err := b.results.save(measureDeadline, f); err != nil {
			return err
		}
		b.say("%s", deadlineLine(r))
	}
}

// nextDeadline returns the next run: first those at fixed limits, then those with deadlines, whose limits
// are spread evenly between.
func (f *File) nextDeadline(runs int) (next Deadline, some bool) {
	n := len(f.Runs)
	fixed := fixedFactors()
	if n < schedules*len(fixed) {
		return Deadline{Schedule: n % schedules, Fixed: fixed[n/schedules]}, true
	}
	if n -= schedules * len(fixed); n >= runs {
		return Deadline{}, false
	}
	next = Deadline{Schedule: n % schedules}
	lowest, highest := 0.5, 2.0
	random := rand.New(rand.NewPCG(uint64(n), 23))
	wanted := lowest * math.Pow(highest/lowest, random.Float64())
	next.WithinS = math.Round(f.takes(next.Schedule, wanted))
	next.Wanted = f.meets(next.Schedule, next.WithinS)
	return next, true
}

// atFixed returns the elapsed seconds of the runs at fixed limits under a schedule.
func (f *File) atFixed(schedule int) (factors, elapsed []float64) {
	for _, r := range f.Runs {
		if d := r.Deadline; d != nil && d.Fixed > 0 && d.Schedule == schedule && r.Finished {
			factors, elapsed = append(factors, math.Log(d.Fixed)), append(elapsed, math.Log(elapsedOf(r)))
		}
	}
	return factors, elapsed
}

// takes is the elapsed time at a fixed limit.
func (f *File) takes(schedule int, factor float64) float64 {
	line := fitLine(f.atFixed(schedule))
	return math.Exp(line.at(math.Log(factor)))
}

// meets is the fixed limit that takes so long.
func (f *File) meets(schedule int, seconds float64) float64 {
	line := fitLine(f.atFixed(schedule))
	return math.Exp(line.where(math.Log(seconds)))
}

// line is a straight line of least squares.
type line struct{ offset, slope float64 }

func fitLine(x, y []float64) line {
	var mx, my float64
	for i := range x {
		mx, my = mx+x[i]/float64(len(x)), my+y[i]/float64(len(x))
	}
	var xx, xy float64
	for i := range x {
		xx, xy = xx+(x[i]-mx)*(x[i]-mx), xy+(x[i]-mx)*(y[i]-my)
	}
	slope := ratio(xy, xx)
	return line{my - slope*mx, slope}
}

func (l line) at(x float64) float64    { return l.offset + l.slope*x }
func (l line) where(y float64) float64 { return (y - l.offset) / l.slope }

// deadlineRun lets midstream change the table while the load changes.
func (b *bench) deadlineRun(ctx context.Context, peak float64, d Deadline, number int) (r Run, err error) {
	s, err := b.base.start(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	r = Run{Tool: toolMidstream, Load: "changing " + strconv.Itoa(d.Schedule+1), RateTPS: peak, Round: number, Rows: b.base.rows, Deadline: &d}
	arguments := slices.Clone(b.midstreamArgs)
	if d.Fixed > 0 {
		arguments = append(arguments, fmt.Sprintf("--max-slowdown=%.3g%%,%.3gms", usualPercent*d.Fixed, usualMilliseconds*d.Fixed))
	} else {
		arguments = append(arguments, fmt.Sprintf("--finish-within=%.0fs", d.WithinS))
	}
	limits := factors{lowest: math.Inf(1)}
	tool := midstreamTool(b.midstream, arguments, func(e midstreamEvent) {
		if limits.see(e); e.Event == "progress" {
			d.Path = append(d.Path, LimitAt{e.seen.Sub(r.At).Seconds(), e.Phase, e.Deadline.Factor, e.Workers, e.RowsCopied, e.Verified})
		}
	})
	limited, cancel := context.WithTimeout(ctx, b.limit)
	defer cancel()
	loaded := make(chan error, 1)
	loading, stop := context.WithCancel(limited)
	defer stop()
	go func() { loaded <- b.changingLoad(loading, s, peak, d.Schedule) }()
	if err := pause(limited, b.lead); err != nil {
		return r, err
	}
	r.At = time.Now()
	u := tool(limited, s)
	stop()
	if err := <-loaded; err != nil {
		return r, err
	}
	r.ElapsedS, r.Finished, r.Midstream = u.elapsed.Seconds(), u.err == nil, u.result
	if u.err != nil {
		r.Error = u.err.Error()
	}
	if limits.seconds > 0 {
		d.MeanFactor, d.Lowest, d.Highest = limits.sum/limits.seconds, limits.lowest, limits.highest
	}
	if u.result != nil && u.result.DeadlineLateMS != nil {
		d.LateS = *u.result.DeadlineLateMS / 1e3
	}
	return r, ctx.Err()
}

// changingLoad runs sysbench at rates that change every few seconds, until ctx ends. The first one
// lasts for the lead, too.
func (b *bench) changingLoad(ctx context.Context, s *server, peak float64, schedule int) error {
	random := rand.New(rand.NewPCG(uint64(schedule), 42))
	lasts := b.lead
	var before *load
	stop := func() error {
		if before == nil {
			return nil
		}
		_, died, err := before.stop()
		if died != "" && ctx.Err() == nil {
			err = errors.Join(err, errors.New(died))
		}
		return err
	}
	for ctx.Err() == nil {
		share := 0.15 + 0.5*random.Float64()
		next, err := startLoad(context.WithoutCancel(ctx), b.programs.sysbench, s, b.options, share*peak)
		if err = errors.Join(err, stop()); err != nil {
			return err
		}
		before = next
		_ = pause(ctx, lasts+time.Duration((4+6*random.Float64())*float64(time.Second)))
		lasts = 0
	}
	return stop()
}

// factors sums up the limits of a run over its time.
type factors struct {
	sum, seconds, lowest, highest float64
	at                            time.Time
}

func (f *factors) see(e midstreamEvent) {
	if e.Event != "progress" || e.Deadline.Factor == 0 {
		return
	}
	if !f.at.IsZero() {
		over := e.seen.Sub(f.at).Seconds()
		f.sum, f.seconds = f.sum+over*e.Deadline.Factor, f.seconds+over
	}
	f.at = e.seen
	f.lowest, f.highest = min(f.lowest, e.Deadline.Factor), max(f.highest, e.Deadline.Factor)
}

// harsher is the mean limit of a run as a multiple of the fixed one that would just have met the deadline.
func harsher(r Run) float64 {
	if r.Deadline == nil || r.Deadline.WithinS == 0 || r.Deadline.MeanFactor == 0 {
		return math.NaN()
	}
	return ratio(r.Deadline.MeanFactor, r.Deadline.Wanted)
}

// keptDeadline reports whether a run met its deadline.
func keptDeadline(r Run) bool { return r.Finished && r.Deadline.LateS <= 0 }

// deadlineLine is a run in one line.
func deadlineLine(r Run) string {
	d := r.Deadline
	if d.Fixed > 0 {
		return fmt.Sprintf("%s, limit %.2f of the default: %.1f s", r.Load, d.Fixed, elapsedOf(r))
	}
	met := "missed"
	if keptDeadline(r) {
		met = "met"
	}
	return fmt.Sprintf("%s, deadline %.0f s: %s, %.1f s; mean limit %.2f (%.2f to %.2f), %.2f times the fixed one of %.2f", r.Load,
		d.WithinS, met, elapsedOf(r), d.MeanFactor, d.Lowest, d.Highest, harsher(r), d.Wanted)
}

// withDeadline returns the runs that had one.
func (f *File) withDeadline() (runs []Run) {
	if f == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.Runs), func(r Run) bool { return r.Deadline == nil || r.Deadline.WithinS == 0 })
}

// deadlineVerdict reports how many runs met the deadline, with a mean limit within a fourth of the fixed one.
func deadlineVerdict(f *File) verdict {
	runs, met, right, both := f.withDeadline(), 0, 0, 0
	for _, r := range runs {
		kept, near := keptDeadline(r), math.Abs(harsher(r)-1) <= 0.25
		if kept {
			met++
		}
		if near {
			right++
		}
		if kept && near {
			both++
		}
	}
	return atLeast("deadlines met, with a mean limit within a fourth of the fixed one", 100*ratio(float64(both), float64(len(runs))), 90, "%.0f %%").
		noted("%d of %d met; %d within a fourth", met, len(runs), right)
}

func (p *page) deadlines(f *File) {
	if f == nil {
		return
	}
	p.line("## Deadlines\n")
	p.line("The load changes every 4 to 10 s between 15 and 65 %% of the peak. Limits are multiples of the default `--max-slowdown`;")
	p.line("the fixed limit that would just have met the deadline comes from a line through the runs at fixed limits (log-log).\n")
	p.head("load", "fixed limit", "elapsed s")
	for _, r := range f.Runs {
		if d := r.Deadline; d != nil && d.Fixed > 0 {
			p.row(r.Load, number(d.Fixed, "%.2f"), number(elapsedOf(r), "%.1f"))
		}
	}
	p.line("")
	p.head("load", "deadline s", "elapsed s", "met", "mean limit", "lowest to highest", "fixed limit", "mean compared with it")
	for _, r := range f.withDeadline() {
		d, met := r.Deadline, "**no**"
		if keptDeadline(r) {
			met = "yes"
		}
		p.row(r.Load, number(d.WithinS, "%.0f"), number(elapsedOf(r), "%.1f"), met, number(d.MeanFactor, "%.2f"),
			fmt.Sprintf("%.2f to %.2f", d.Lowest, d.Highest), number(d.Wanted, "%.2f"), number(harsher(r), "%.2fx"))
	}
	p.line("")
	p.troubles(f.Runs)
}
