package cli

import (
	"fmt"

	"midstream/internal/event"
	"midstream/internal/metrics"
	"midstream/internal/record"
)

// machineFlags say which programs are told of a run, beside those that ask for it.
type machineFlags struct {
	metricsFile string
}

func (m *machineFlags) register(f *checks) {
	f.flags.StringVar(&m.metricsFile, "metrics-file", "", "file to write metrics to every 5 s and at the end, as the textfile collector of node_exporter reads it (NAME.prom)")
}

// machines are the programs that are told of a run. It is safe for concurrent use.
type machines struct {
	metrics *metrics.Run
	keep    func() error // ends the file of metrics; nil for none
}

// begin tells of a run that begins.
func (m machineFlags) begin(app *app, run record.Run) (*machines, error) {
	told := &machines{metrics: metrics.New(metrics.About{Table: run.Table, Server: run.Server, Rehearsal: run.Rehearsal, Version: app.Version})}
	if m.metricsFile == "" {
		return told, nil
	}
	var err error
	if told.keep, err = told.metrics.Keep(m.metricsFile); err != nil {
		return told, &coded{code: exitUsage, err: err, left: "nothing was written", next: "name another file by --metrics-file, or leave it out"}
	}
	return told, nil
}

// listen is an event.Listener.
func (m *machines) listen(e event.Event) { m.metrics.Listen(e) }

// end tells of the result. note takes what somebody should know.
func (m *machines) end(result record.Result, note func(string)) {
	m.metrics.End(result.Outcome)
	if m.keep == nil {
		return
	}
	if err := m.keep(); err != nil {
		note(fmt.Sprintf("the metrics of this run are not whole: %v", err))
	}
}
