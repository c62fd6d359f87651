package cli

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/ops/hook"
	"midstream/internal/ops/metrics"
	"midstream/internal/ops/record"
)

// machineFlags say which programs are told of a run, beside those that ask for it.
type machineFlags struct {
	metricsFile string
	hooks       []hook.Hook
	hookTimeout time.Duration
	logFile     string
	logFormat   string
}

func (m *machineFlags) register(f *checks) {
	f.flags.StringVar(
		&m.metricsFile, "metrics-file", "",
		"file to write metrics to every 5 s and at the end, as the textfile collector of node_exporter reads it (NAME.prom)",
	)
	f.add(
		"",
		"hook",
		"moment=program",
		"",
		"program or URL to call at a moment of the run (docs/hooks.md); may be repeated",
		func(text string) error {
			h, err := hook.Parse(text)
			if err == nil {
				m.hooks = append(m.hooks, h)
			}
			return err
		},
	)
	f.duration(&m.hookTimeout, "hook-timeout", 30*time.Second, time.Second, time.Hour, "how long a hook may take")
	f.flags.StringVar(&m.logFile, "log-file", "", "file to append a log to, a line for each thing that happens; - is standard error")
	m.logFormat = logFormats[0]
	f.enum("log-format", m.logFormat, logFormats, "form of that log", func(word string) { m.logFormat = word })
}

// machines are the programs that are told of a run. It is safe for concurrent use.
type machines struct {
	metrics *metrics.Run
	keep    func() error // ends the file of metrics; nil for none
	journal *journal     // nil for none
	hooks   *hook.Hooks  // nil for none
}

// begin tells of a run that begins.
func (m machineFlags) begin(app *app, run record.Run) (*machines, error) {
	told := &machines{
		metrics: metrics.New(metrics.About{Table: run.Table, Server: run.Server, Rehearsal: run.Rehearsal, Version: app.Version}),
	}
	if m.metricsFile != "" {
		var err error
		if told.keep, err = told.metrics.Keep(m.metricsFile); err != nil {
			return told, &coded{
				code: exitUsage,
				err:  err,
				left: "nothing was written",
				next: "name another file by --metrics-file, or leave it out",
			}
		}
	}
	if m.logFile != "" {
		var err error
		if told.journal, err = openJournal(m.logFile, m.logFormat, app.Stderr, run); err != nil {
			return told, &coded{
				code: exitUsage,
				err:  err,
				left: "nothing was written",
				next: "name another file by --log-file, or leave it out",
			}
		}
	}
	return told, nil
}

// call has the hooks called of a run that has ctx.
func (m machineFlags) call(ctx context.Context, r *controlled, run record.Run) {
	if len(m.hooks) == 0 {
		return
	}
	r.told.hooks = hook.Begin(ctx, m.hooks, m.hookTimeout, run, func(why string) { r.app.Interrupts.end(&asked{by: why}) }, r.remark)
}

// remark tells what somebody should know, while the run is at work and after its end.
func (r *controlled) remark(text string) {
	select {
	case <-r.ended:
		r.output.note(text)
	default:
		r.tell(event.Note{Text: text, At: time.Now()})
	}
}

// listen is an event.Listener. It waits for the hooks that may end the run.
func (m *machines) listen(e event.Event) {
	m.metrics.Listen(e)
	if m.journal != nil {
		m.journal.listen(e)
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
			note(fmt.Sprintf("the metrics of this run are not whole: %v", err))
		}
	}
	if m.journal != nil {
		if err := m.journal.end(result); err != nil {
			note(fmt.Sprintf("the log of this run is not whole: %v", err))
		}
	}
}

// callLast calls the hooks of the end, when all else has been told.
func (m *machines) callLast(result record.Result, report string) {
	if m.hooks != nil {
		m.hooks.End(result, report)
	}
}
