package metrics

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
)

// About identifies a run.
type About struct {
	Table     string // database.table
	Server    string // host:port, or the path of a socket
	Rehearsal string // as in record.Run
	Version   string // of midstream
}

// Run holds the metrics of one run. It is safe for concurrent use.
type Run struct {
	about    About
	registry *prometheus.Registry
	chunks   *prometheus.HistogramVec
	locks    *prometheus.HistogramVec
	now      func() time.Time

	mu    sync.Mutex
	state state
}

// state is what the events of a run have reported so far.
type state struct {
	phase     event.Phase
	entered   time.Time
	phases    map[event.Phase]time.Duration // spent in each, without the current one
	progress  *event.Progress               // the newest
	earlier   int64                         // rows copied before this attempt
	gates     map[string]time.Time          // that are closed, and since when
	throttled map[string]time.Duration      // spent at each until it opened
	blocked   event.Blocked                 // the newest of this phase
	kills     int
	attempts  map[bool]int // at a lock, by success
	retries   map[string]int
	commands  map[bool]int // by refusal
	findings  map[string]int
	mismatch  int
	repaired  int
	swap      *event.SwapDone
	outcome   string // "" until the run has ended
}

// New returns the metrics of a run that begins.
func New(about About) *Run {
	r := &Run{about: about, registry: prometheus.NewRegistry(), chunks: chunkTimes.vector(), locks: lockWaits.vector(), now: time.Now}
	r.state = state{phases: map[event.Phase]time.Duration{}, gates: map[string]time.Time{}, throttled: map[string]time.Duration{},
		attempts: map[bool]int{}, retries: map[string]int{}, commands: map[bool]int{}, findings: map[string]int{}}
	labeled := prometheus.WrapRegistererWith(prometheus.Labels{"table": plain(about.Table), "server": plain(about.Server)}, r.registry)
	labeled.MustRegister(r, r.chunks, r.locks, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// plain is a value that Prometheus takes for a label, without what a terminal would obey.
func plain(value string) string { return escape.Line(strings.ToValidUTF8(value, "\uFFFD")) }

// Listen is an event.Listener. It never waits.
func (r *Run) Listen(e event.Event) {
	switch e := e.(type) {
	case event.ChunkCopied:
		r.chunks.WithLabelValues().Observe(e.Elapsed.Seconds())
		return
	case event.LockAttempt:
		r.locks.WithLabelValues(outcomeOf(e.Granted)).Observe(e.Waited.Seconds())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.take(e)
}

// End records the end of the run. outcome is one of record.Result's outcomes.
func (r *Run) End(outcome string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.leave(r.now())
	r.state.open(nil, r.now())
	r.state.phase, r.state.blocked, r.state.outcome = "", event.Blocked{}, outcome
}

// Gatherer returns the metrics for Prometheus.
func (r *Run) Gatherer() prometheus.Gatherer { return r.registry }

// ServeHTTP answers Prometheus.
func (r *Run) ServeHTTP(w http.ResponseWriter, q *http.Request) { serve(r.registry, w, q) }

func serve(g prometheus.Gatherer, w http.ResponseWriter, q *http.Request) {
	promhttp.HandlerFor(g, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).ServeHTTP(w, q)
}

// Describe implements prometheus.Collector.
func (r *Run) Describe(to chan<- *prometheus.Desc) {
	for _, m := range ofRuns() {
		to <- m.desc()
	}
}

// Collect implements prometheus.Collector.
func (r *Run) Collect(to chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for _, m := range ofRuns() {
		desc := m.desc()
		m.read(r, now, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(desc, m.kind, value, labels...)
		})
	}
}

func (s *state) take(e event.Event) {
	switch e := e.(type) {
	case event.PhaseEntered:
		s.leave(e.At)
		if e.Phase == event.PhaseCheck { // another attempt
			s.progress, s.earlier = nil, 0
			s.open(nil, e.At) // it has gates of its own
		}
		s.phase, s.entered, s.blocked = e.Phase, e.At, event.Blocked{}
	case event.Progress:
		s.progress = &e
	case event.Resumed:
		s.progress, s.earlier = nil, e.Rows
	case event.Throttled:
		s.open(e.Gates, e.At)
	case event.Blocked:
		s.blocked = e
	case event.Killed:
		s.kills++
	case event.LockAttempt:
		s.attempts[e.Granted]++
	case event.Retry:
		s.retries[e.What]++
	case event.Controlled:
		s.commands[e.Refused]++
	case event.Finding:
		s.findings[e.Kind]++
	case event.Mismatch:
		s.mismatch++
	case event.Verified:
		s.repaired += e.Repaired
	case event.SwapDone:
		s.swap = &e
	}
}

// reopened returns the gates that were closed and are open now, with the time for which they were closed.
func (s *state) reopened() map[string]time.Duration {
	open := maps.Clone(s.throttled)
	maps.DeleteFunc(open, func(gate string, _ time.Duration) bool {
		_, closed := s.gates[gate]
		return closed
	})
	return open
}

// leave counts the time of the current phase.
func (s *state) leave(at time.Time) {
	if s.phase != "" {
		s.phases[s.phase] += max(0, at.Sub(s.entered))
	}
}

// open counts the time of gates that have opened, and keeps the gates that are closed.
func (s *state) open(gates []event.Gate, at time.Time) {
	closed := map[string]time.Time{}
	for _, g := range gates {
		name, _, _ := strings.Cut(g.Name, " ") // without the replica
		since, is := closed[name]
		if !is || g.Since.Before(since) {
			closed[name] = g.Since
		}
	}
	for name, since := range s.gates {
		if _, still := closed[name]; !still {
			s.throttled[name] += max(0, at.Sub(since))
		} else if since.Before(closed[name]) {
			closed[name] = since
		}
	}
	s.gates = closed
}
