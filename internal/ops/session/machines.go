package session

import (
	"fmt"
	"io"

	"midstream/internal/engine/event"
	"midstream/internal/ops/hook"
	"midstream/internal/ops/metrics"
	"midstream/internal/ops/readers"
	"midstream/internal/ops/record"
)

// Machines say which programs are told of a change, in addition to those that ask for it.
type Machines struct {
	MetricsFile string // "" for none
	Hooks       hook.Calls
	Readers     []readers.Reader // of the binlog, which the swap waits for
	LogFile     string           // "" for none, - for Log
	LogAsJSON   bool
	Log         io.Writer
	// Line is what people are told of an event; "" for nothing.
	Line func(event.Event) string
}

// machines are the programs that are told of a change. It is safe for concurrent use.
type machines struct {
	metrics *metrics.Run
	keep    func() error // ends the file of metrics; nil for none
	journal *journal     // nil for none
	hooks   *hook.Hooks  // nil for none
}

// begin tells of a change that begins.
func (m Machines) begin(run record.Run, version string) (*machines, error) {
	told := &machines{
		metrics: metrics.New(metrics.About{Table: run.Table, Server: run.Server, Rehearsal: run.Rehearsal, Version: version}),
	}
	if m.MetricsFile != "" {
		var err error
		if told.keep, err = told.metrics.Keep(m.MetricsFile); err != nil {
			return told, unusable(err, "name another file by --metrics-file, or leave out the flag")
		}
	}
	if m.LogFile != "" {
		var err error
		if told.journal, err = openJournal(m.LogFile, m.LogAsJSON, m.Log, run, m.Line); err != nil {
			return told, unusable(err, "name another file by --log-file, or leave out the flag")
		}
	}
	return told, nil
}

// listen is an event.Listener. It waits for the hooks that may end the run.
func (m *machines) listen(e event.Event) {
	m.metrics.Listen(e)
	if m.journal != nil {
		m.journal.relay.Listen(e)
	}
	if m.hooks != nil {
		m.hooks.Listen(e)
	}
}

// end tells of the result. note takes what somebody should know.
func (m *machines) end(result record.Result, note func(string)) {
	m.metrics.End(result.Outcome)
	if m.keep != nil {
		if err := m.keep(); err != nil {
			note(fmt.Sprintf("the metrics of this run are incomplete: %v", err))
		}
	}
	if m.journal != nil {
		if err := m.journal.end(result); err != nil {
			note(fmt.Sprintf("the log of this run is incomplete: %v", err))
		}
	}
}

// callLast calls the hooks of the end, when all else has been told.
func (m *machines) callLast(result record.Result, report string) {
	if m.hooks != nil {
		m.hooks.End(result, report)
	}
}
