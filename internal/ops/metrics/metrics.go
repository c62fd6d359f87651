package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"midstream/internal/engine/event"
)

// prefix begins the names of all metrics of ours.
const prefix = "midstream_"

// metric is a metric of a run.
type metric struct {
	name, help string
	kind       prometheus.ValueType
	labels     []string
	read       reader
}

func (m metric) desc() *prometheus.Desc {
	return prometheus.NewDesc(prefix+m.name, m.help, m.labels, nil)
}

func outcomeOf(granted bool) string {
	if granted {
		return "granted"
	}
	return "withdrawn"
}

// histogram is a metric of a run that counts durations.
type histogram struct {
	name, help string
	labels     []string
	buckets    []float64 // in seconds
}

// The histograms of a run.
var (
	chunkTimes = histogram{
		"chunk_seconds", "Time of a chunk of the row copy, one transaction.", nil,
		[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}
	lockWaits = histogram{
		"lock_wait_seconds",
		"Time for which a request for the lock of the swap, or of the server's own statement, waited in the queue.",
		[]string{"outcome"}, []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
	}
)

func (h histogram) vector() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + h.name, Help: h.help, Buckets: h.buckets}, h.labels)
}

// reader reads the values of a metric, each with its labels.
type reader func(r *Run, now time.Time, tell func(value float64, labels ...string))

// one reads a value that is always known.
func one(of func(s *state) float64) reader {
	return func(r *Run, _ time.Time, tell func(float64, ...string)) { tell(of(&r.state)) }
}

// told reads a value of the newest progress. A negative value is not known.
func told[N int | int64 | float64](of func(p *event.Progress) N) reader {
	return func(r *Run, _ time.Time, tell func(float64, ...string)) {
		if p := r.state.progress; p != nil && of(p) >= 0 {
			tell(float64(of(p)))
		}
	}
}

// atWork reads a value that exists only until the run ends.
func atWork(read reader) reader {
	return func(r *Run, now time.Time, tell func(float64, ...string)) {
		if r.state.outcome == "" {
			read(r, now, tell)
		}
	}
}

// spent reads a time of the newest progress in seconds. A negative time is not known.
func spent(of func(p *event.Progress) time.Duration) reader {
	return told(func(p *event.Progress) float64 { return of(p).Seconds() })
}

// deadline reads a value of a run that has a deadline.
func deadline(of func(d *event.Deadline, now time.Time) float64) reader {
	return func(r *Run, now time.Time, tell func(float64, ...string)) {
		if p := r.state.progress; p != nil && !p.Deadline.By.IsZero() {
			tell(of(&p.Deadline, now))
		}
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// counted reads counts by a word. The words in always have a count of at least 0.
func counted(of func(s *state) map[string]int, always ...string) reader {
	return func(r *Run, _ time.Time, tell func(float64, ...string)) {
		counts := of(&r.state)
		for _, word := range always {
			tell(float64(counts[word]), word)
		}
		for word, n := range counts {
			if !slices.Contains(always, word) {
				tell(float64(n), word)
			}
		}
	}
}

// either reads two counts, of yes and of no.
func either(of func(s *state) map[bool]int, yes, no string) reader {
	return func(r *Run, _ time.Time, tell func(float64, ...string)) {
		tell(float64(of(&r.state)[true]), yes)
		tell(float64(of(&r.state)[false]), no)
	}
}

// ofRuns are the metrics of a run, without its histograms.
func ofRuns() []metric { return slices.Concat(ofCourse(), ofWork(), ofWaiting(), ofProof()) }

// ofCourse tell what a run is and how far it is.
func ofCourse() []metric {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	return []metric{
		{"run_info", "1 for each run. The label rehearsal is empty if the run changes the table.", gauge, []string{"rehearsal", "version"},
			func(r *Run, _ time.Time, tell func(float64, ...string)) { tell(1, r.about.Rehearsal, r.about.Version) }},
		{"run_ended", "1 when the run has ended; outcome is the name of its exit code (docs/exit-codes.md).", gauge, []string{"outcome"},
			func(r *Run, _ time.Time, tell func(float64, ...string)) {
				if r.state.outcome != "" {
					tell(1, r.state.outcome)
				}
			}},
		{"phase", "1 for the current phase of the run, 0 for the others.", gauge, []string{"phase"},
			func(r *Run, _ time.Time, tell func(float64, ...string)) {
				for _, p := range event.Phases() {
					is := 0.
					if p == r.state.phase {
						is = 1
					}
					tell(is, string(p))
				}
			}},
		{"phase_seconds_total", "Time spent in each phase so far.", counter, []string{"phase"},
			func(r *Run, now time.Time, tell func(float64, ...string)) {
				for _, p := range event.Phases() {
					d := r.state.phases[p]
					if p == r.state.phase {
						d += max(0, now.Sub(r.state.entered))
					}
					tell(d.Seconds(), string(p))
				}
			}},
		{
			"elapsed_seconds", "Time since this attempt of the run began.", gauge, nil,
			spent(func(p *event.Progress) time.Duration { return p.Elapsed }),
		},
		{
			"eta_seconds", "Time until the run ends, or until the cut-over may begin if the run holds; no sample while it is not known.",
			gauge, nil, atWork(spent(func(p *event.Progress) time.Duration { return p.ETA })),
		},
		{
			"eta_least_seconds", "Lower end of the range of midstream_eta_seconds; no sample while it is not known.", gauge, nil,
			atWork(spent(func(p *event.Progress) time.Duration { return p.ETALeast })),
		},
		{
			"eta_most_seconds", "Upper end of the range of midstream_eta_seconds; no sample while it is not known.", gauge, nil,
			atWork(spent(func(p *event.Progress) time.Duration { return p.ETAMost })),
		},
		{
			"deadline_seconds", "Time until the deadline of the run; negative after it; no sample without a deadline.", gauge, nil,
			atWork(deadline(func(d *event.Deadline, now time.Time) float64 { return d.By.Sub(now).Seconds() })),
		},
		{
			"deadline_met", "1: the run will meet its deadline; 0: it is behind, or will be late; no sample while it is not known.", gauge, nil,
			atWork(func(r *Run, now time.Time, tell func(float64, ...string)) {
				if p := r.state.progress; p != nil && p.Deadline.State != event.DeadlineUnknown {
					deadline(func(d *event.Deadline, _ time.Time) float64 { return truth(d.State == event.DeadlineMet) })(r, now, tell)
				}
			}),
		},
		{
			"deadline_limit_factor", "Present limit as a multiple of --max-slowdown; no sample without a deadline.", gauge, nil,
			atWork(deadline(func(d *event.Deadline, _ time.Time) float64 { return d.Factor })),
		},
		{"copied_ratio", "Completed part of the row copy.", gauge, nil, told(func(p *event.Progress) float64 { return p.Fraction })},
		{
			"build_ratio", "Completed part of a step of the server's build, if the server reports it.", gauge, nil,
			told(func(p *event.Progress) float64 { return p.IndexFraction }),
		},
		{"commands_total", "Commands that the run received, by outcome: obeyed or refused.", counter, []string{"outcome"},
			either(func(s *state) map[bool]int { return s.commands }, "refused", "obeyed")},
	}
}

// ofWork tell what a run has done.
func ofWork() []metric {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	return []metric{
		{
			"rows_estimated", "Rows of the table, as the server estimates them; at least the copied rows.",
			gauge, nil, told(func(p *event.Progress) int64 { return p.RowsTotal }),
		},
		{"rows_copied_total", "Rows written by the row copy.", counter, nil,
			func(r *Run, _ time.Time, tell func(float64, ...string)) {
				if p := r.state.progress; p != nil {
					tell(float64(max(0, p.RowsCopied-r.state.earlier)))
				}
			}},
		{
			"rows_scanned_total", "Rows that the prescan has checked.", counter, nil,
			told(func(p *event.Progress) int64 { return p.Scanned }),
		},
		{
			"rows_verified_total", "Rows compared with the rows of the new table.", counter, nil,
			told(func(p *event.Progress) int64 { return p.Verified }),
		},
		{
			"chunk_rows", "Current number of rows in a chunk of the row copy.", gauge, nil,
			atWork(told(func(p *event.Progress) int { return p.ChunkRows })),
		},
		{
			"workers", "Row copy workers that may work now; with 1.5 the second works half of its time.", gauge, nil,
			atWork(told(func(p *event.Progress) float64 { return p.Workers })),
		},
		{
			"changes_captured_total", "Changed keys that were captured.", counter, nil,
			told(func(p *event.Progress) int64 { return p.Captured }),
		},
		{"changes_applied_total", "Keys synced from the backlog; a key that changes again is counted again.", counter, nil, told(func(p *event.Progress) int64 { return p.Applied })},
		{
			"changes_dropped_total", "Changes ahead of the row copy, which reads their rows anyway.", counter, nil,
			told(func(p *event.Progress) int64 { return p.Dropped }),
		},
		{
			"changes_merged_total", "Changes of a key that was in the backlog already.", counter, nil,
			told(func(p *event.Progress) int64 { return p.Merged }),
		},
		{
			"backlog_keys", "Keys that are captured and not yet applied.", gauge, nil,
			atWork(told(func(p *event.Progress) int { return p.Backlog })),
		},
		{
			"backlog_limit_keys", "Keys in the backlog at which capture waits.", gauge, nil,
			told(func(p *event.Progress) int { return p.BacklogLimit }),
		},
		{"binlog_read_bytes_total", "Bytes of binlog received.", counter, nil, told(func(p *event.Progress) int64 { return p.BinlogRead })},
		{"retries_total", "Syncs that were tried again (deadlocks, lock waits), by what was synced.", counter, []string{"what"},
			counted(func(s *state) map[string]int { return s.retries }, "chunk", "keys")},
	}
}

// ofWaiting are the metrics of delays, the application, gates and locks.
func ofWaiting() []metric { return slices.Concat(ofDelays(), ofGates(), ofLocks()) }

// ofDelays tell how far behind capture and replicas are, and what the application notices.
func ofDelays() []metric {
	const gauge = prometheus.GaugeValue
	return []metric{
		{
			"capture_delay_seconds", "Delay of capture behind the server.", gauge, nil,
			atWork(spent(func(p *event.Progress) time.Duration { return p.CaptureDelay })),
		},
		{
			"replica_lag_seconds", "Lag of the replica that is furthest behind; no sample if no replica is watched.",
			gauge, nil, atWork(spent(func(p *event.Progress) time.Duration { return p.ReplicaLag })),
		},
		{
			"application_statement_seconds",
			"Mean time of a statement of the application on the server: now, and while the run rests (alone); no sample while it is not known.",
			gauge, []string{"when"}, atWork(readStatementTimes),
		},
		{
			"application_slowdown_ratio",
			"Share by which the run slows the application's statements down; no sample while it is not known.",
			gauge, nil, atWork(told(func(p *event.Progress) float64 { return p.Slowdown })),
		},
		{
			"application_statements_per_second",
			"Statements of the application that end per second; 0 if it is not known, or if there is no application.", gauge,
			nil, atWork(told(func(p *event.Progress) float64 { return p.Statements })),
		},
	}
}

// ofGates tell which gates the run waits for.
func ofGates() []metric {
	return []metric{
		{
			"throttled",
			"1 for each closed gate, for which the run waits; 0 for gates that are open again (docs/events.md, throttled; replicas without their names).",
			prometheus.GaugeValue, []string{"gate"}, readGates,
		},
		{
			"throttled_seconds_total", "Time for which each gate was closed.",
			prometheus.CounterValue, []string{"gate"}, readGateTimes,
		},
	}
}

// ofLocks tell about the lock of the swap and the sessions that block it.
func ofLocks() []metric {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	return []metric{
		{"blockers", "Sessions that block a lock.", gauge, nil, readBlockers},
		{
			"kills_total",
			"Sessions that were killed because they blocked a lock for too long (--kill-blockers-after).", counter,
			nil, one(func(s *state) float64 { return float64(s.kills) }),
		},
		{"lock_attempts_total", "Requests for the lock of the swap, or of the server's own statement.", counter, []string{"outcome"},
			either(func(s *state) map[bool]int { return s.attempts }, outcomeOf(true), outcomeOf(false))},
		{"lock_held_seconds", "Time for which the lock of the swap was held; no sample before the swap.", gauge, nil, readLockHeld},
	}
}

func readStatementTimes(r *Run, _ time.Time, tell func(float64, ...string)) {
	p := r.state.progress
	if p == nil {
		return
	}
	if p.StatementTime > 0 {
		tell(p.StatementTime.Seconds(), "now")
	}
	if p.StatementTimeAlone > 0 {
		tell(p.StatementTimeAlone.Seconds(), "alone")
	}
}

func readGates(r *Run, _ time.Time, tell func(float64, ...string)) {
	for gate := range r.state.gates {
		tell(1, gate)
	}
	for gate := range r.state.reopened() {
		tell(0, gate)
	}
}

func readGateTimes(r *Run, now time.Time, tell func(float64, ...string)) {
	for gate, since := range r.state.gates {
		tell((r.state.throttled[gate] + max(0, now.Sub(since))).Seconds(), gate)
	}
	for gate, closed := range r.state.reopened() {
		tell(closed.Seconds(), gate)
	}
}

func readBlockers(r *Run, now time.Time, tell func(float64, ...string)) {
	if !r.state.blocked.Lasts(now) {
		tell(0)
		return
	}
	tell(float64(len(r.state.blocked.Blockers)))
}

func readLockHeld(r *Run, _ time.Time, tell func(float64, ...string)) {
	if s := r.state.swap; s != nil {
		tell(s.LockHeld.Seconds())
	}
}

func readUnfit(r *Run, _ time.Time, tell func(float64, ...string)) {
	if p := r.state.progress; p != nil && p.Unfit != nil {
		tell(float64(p.Unfit.Rows))
	}
}

// ofProof count rows that do not fit, differ, or were repaired.
func ofProof() []metric {
	const counter = prometheus.CounterValue
	return []metric{
		{
			"findings_total",
			"Kinds of rows that do not fit the new table, by column or key; each counts once, for any number of rows (docs/events.md, finding).",
			counter, []string{"kind"}, counted(func(s *state) map[string]int { return s.findings }),
		},
		{
			"mismatches_total", "Values of the new table that differ from what the ALTER makes of the old values.",
			counter, nil, one(func(s *state) float64 { return float64(s.mismatch) }),
		},
		{
			"undo_unfit_rows", "Rows that do not fit the definition that comes back now; no sample if the run is not an undo, and before it follows changes.",
			prometheus.GaugeValue, nil, atWork(readUnfit),
		},
		{
			"rows_repaired_total", "Rows that differed and were copied again (--repair).", counter, nil,
			one(func(s *state) float64 { return float64(s.repaired) }),
		},
	}
}
