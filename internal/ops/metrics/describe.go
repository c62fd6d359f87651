package metrics

import "github.com/prometheus/client_golang/prometheus"

// Description describes a metric.
type Description struct {
	Name, Kind, Help string
	Labels           []string // without table and server, and change, which the queue adds
}

// OfRuns describes the metrics of a run.
func OfRuns() []Description {
	var all []Description
	for _, m := range ofRuns() {
		all = append(all, Description{prefix + m.name, kindOf(m.kind), m.help, m.labels})
	}
	for _, h := range []histogram{chunkTimes, lockWaits} {
		all = append(all, Description{prefix + h.name, "histogram", h.help, h.labels})
	}
	return all
}

func kindOf(kind prometheus.ValueType) string {
	if kind == prometheus.CounterValue {
		return "counter"
	}
	return "gauge"
}
