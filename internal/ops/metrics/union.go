package metrics

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Source is a run of another process.
type Source struct {
	Change string // its ID in the queue
	// Read returns its metrics, as ServeHTTP of its Run writes them; of a group, those of each table's run.
	Read func(ctx context.Context) ([]io.ReadCloser, error)
}

// Queue is the input of a Union.
type Queue struct {
	// Counts counts the changes by their state, with zeros.
	Counts func() map[string]int
	// Ready returns the changes that wait for their release.
	Ready func() []Ready
	// Sources returns the runs at work.
	Sources func() []Source
	// Undos returns the undos of finished changes; it may be nil.
	Undos func() []Undo
	// Sets returns the change sets; it may be nil.
	Sets func() Sets
}

// Ready is a change that waits for its release.
type Ready struct {
	Change, Table, Server string
	Since                 time.Time
	Verified              *time.Time // nil: nothing was compared
}

// Undo is how a finished change can be taken back.
type Undo struct {
	Change, Table, Server string
	Open                  bool
	Until                 time.Time
	Unfit                 *int64 // nil: not known
}

// patience bounds the wait for a run that does not answer. Prometheus waits for ten seconds.
const patience = 3 * time.Second

// The metrics of the queue.
var (
	changesOf = Description{prefix + "changes", "gauge", "Changes in the queue by their state.", []string{"state"}}
	upOf      = Description{
		prefix + "run_up", "gauge",
		"1 for each run at work that has sent its metrics, 0 if it does not answer.", []string{"change"},
	}
)

// The metrics of changes that are ready.
var (
	readyOf = Description{
		prefix + "change_ready_seconds", "gauge", "Time since which a change waits for its release.", undoLabels,
	}
	readyAgeOf = Description{
		prefix + "change_proof_age_seconds", "gauge",
		"Time since the tables of a change that waits for its release were last compared; no sample if nothing was compared.", undoLabels,
	}
)

// The metrics of undos.
var (
	undoLabels = []string{"table", "server"}
	undoOpenOf = Description{
		prefix + "undo_open", "gauge",
		"1 for each finished change whose undo is open, 0 if the promise no longer holds or the server does not answer.", undoLabels,
	}
	undoUntilOf = Description{
		prefix + "undo_open_until_seconds", "gauge", "Time for which the undo of a finished change is still promised.", undoLabels,
	}
	undoUnfitOf = Description{
		prefix + "undo_unfit_rows", "gauge",
		"Rows that do not fit the definition that comes back, as a follower has found; no sample if none runs.", undoLabels,
	}
)

// OfQueues describes the metrics of a queue, in addition to the metrics of its runs.
func OfQueues() []Description {
	return append([]Description{changesOf, upOf, readyOf, readyAgeOf, undoOpenOf, undoUntilOf}, ofSets()...)
}

// Union answers Prometheus with the metrics of a queue and those of all of its runs, each with the label change.
func Union(q Queue) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return q.gather(r.Context()), nil }), w, r)
	})
}

func (q Queue) gather(ctx context.Context) []*dto.MetricFamily {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sources := q.Sources()
	read := make([][]*dto.MetricFamily, len(sources))
	var reading sync.WaitGroup
	for i, s := range sources {
		reading.Go(func() { read[i], _ = s.gather(ctx) }) // an ended run has none: run_up shows it
	}
	reading.Wait()
	all := map[string]*dto.MetricFamily{}
	counts := q.Counts()
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		add(all, family(changesOf, state, float64(counts[state])))
	}
	for i, s := range sources {
		up := 0.
		if read[i] != nil {
			up = 1
		}
		add(all, family(upOf, s.Change, up))
		for _, f := range read[i] {
			add(all, f)
		}
	}
	if q.Ready != nil {
		for _, r := range q.Ready() {
			r.add(all)
		}
	}
	if q.Undos != nil {
		for _, u := range q.Undos() {
			u.add(all)
		}
	}
	if q.Sets != nil {
		q.Sets().add(all)
	}
	var sorted []*dto.MetricFamily
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sorted = append(sorted, all[name])
	}
	return sorted
}

func (s Source) gather(ctx context.Context) ([]*dto.MetricFamily, error) {
	runs, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	var all []*dto.MetricFamily
	for _, from := range runs {
		defer from.Close()
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(from)
		if err != nil {
			return nil, fmt.Errorf("read the metrics of %s: %w", s.Change, err)
		}
		all = append(all, slices.Collect(maps.Values(families))...)
	}
	for _, f := range all {
		for _, m := range f.Metric {
			m.Label = append(m.Label, label("change", s.Change))
			slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
		}
	}
	return all, nil
}

// add adds the metrics of a family to those of its name. A run of another version may have one of
// another type: it is left out.
func add(all map[string]*dto.MetricFamily, f *dto.MetricFamily) {
	switch there := all[f.GetName()]; {
	case there == nil:
		all[f.GetName()] = f
	case there.GetType() == f.GetType():
		there.Metric = append(there.Metric, f.Metric...)
	}
}

// add adds the metrics of a change that is ready.
func (r Ready) add(all map[string]*dto.MetricFamily) {
	put := putting(all, r.Change, r.Server, r.Table)
	put(readyOf, time.Since(r.Since).Seconds())
	if r.Verified != nil {
		put(readyAgeOf, time.Since(*r.Verified).Seconds())
	}
}

// putting returns what adds a metric of a change.
func putting(all map[string]*dto.MetricFamily, change, server, table string) func(Description, float64) {
	labels := []*dto.LabelPair{label("change", change), label("server", server), label("table", table)}
	return func(d Description, value float64) { add(all, gauge(d, value, labels...)) }
}

// add adds the metrics of an undo.
func (u Undo) add(all map[string]*dto.MetricFamily) {
	put := putting(all, u.Change, u.Server, u.Table)
	put(undoOpenOf, truth(u.Open))
	put(undoUntilOf, time.Until(u.Until).Seconds())
	if u.Unfit != nil {
		put(undoUnfitOf, float64(*u.Unfit))
	}
}

// family is a metric of the queue.
func family(d Description, word string, value float64) *dto.MetricFamily {
	return gauge(d, value, label(d.Labels[0], word))
}

// gauge is one sample.
func gauge(d Description, value float64, labels ...*dto.LabelPair) *dto.MetricFamily {
	return &dto.MetricFamily{Name: &d.Name, Help: &d.Help, Type: dto.MetricType_GAUGE.Enum(),
		Metric: []*dto.Metric{{Label: labels, Gauge: &dto.Gauge{Value: &value}}}}
}

func label(name, value string) *dto.LabelPair {
	value = plain(value)
	return &dto.LabelPair{Name: &name, Value: &value}
}
