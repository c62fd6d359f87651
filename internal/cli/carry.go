package cli

import (
	"context"
	"errors"
	"net/http"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/face/humanize"
	"midstream/internal/face/report"
	"midstream/internal/face/summary"
	"midstream/internal/face/tui"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/hook"
	"midstream/internal/ops/readers"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
	"midstream/internal/ops/socket"
)

// socketFlags say where a run is controlled.
type socketFlags struct {
	folder string
	off    bool
}

const controlDirUse = "folder of the control sockets of runs ($XDG_RUNTIME_DIR/midstream, or midstream-UID in the folder for temporary files)"

// in is the folder of the socket.
func (s socketFlags) in(app *app) session.Folder {
	switch {
	case s.off:
		return session.Folder{}
	case s.folder != "":
		return session.Folder{Path: s.folder, Named: true}
	}
	return session.Folder{Path: socket.Folder(app.Getenv)}
}

// logFormats are the forms of a log; the first is the usual one.
var logFormats = []string{"text", "json"}

// machineFlags say which programs are told of a run, beside those that ask for it.
type machineFlags struct{ session.Machines }

func (m *machineFlags) register(f *flags.Set) {
	f.Flags.StringVar(
		&m.MetricsFile, "metrics-file", "",
		"write metrics to this file every 5 s and at the end, for the textfile collector of node_exporter (NAME.prom)",
	)
	f.Add("", "hook", "moment=program", "", "program or URL to call at a moment of the run (docs/hooks.md); may be repeated", func(text string) error {
		h, err := hook.Parse(text)
		if err == nil {
			m.Hooks.List = append(m.Hooks.List, h)
		}
		return err
	})
	f.Duration(&m.Hooks.Timeout, "hook-timeout", 30*time.Second, time.Second, time.Hour, "time limit for each hook")
	f.Enum("hook-veto", string(hook.VetoHolds), []string{string(hook.VetoHolds), string(hook.VetoEnds)},
		"what the no of a hook before-cutover does: the run is held and asks again, or it ends and removes its work",
		func(word string) { m.Hooks.Veto = hook.Veto(word) })
	f.Flags.StringVar(&m.LogFile, "log-file", "", "append a log to this file, one line for each event; - is standard error")
	f.Add("", "binlog-reader", "name=URL", "", "hold the swap while this program (Debezium, ...) is far behind with the binlog; the URL gives its position (docs/readers.md); may be repeated", func(text string) error {
		r, err := readers.Parse(text)
		if err == nil {
			m.Readers = append(m.Readers, r)
		}
		return err
	})
	f.Enum("log-format", logFormats[0], logFormats, "format of the log", func(word string) { m.LogAsJSON = word == "json" })
}

// Event shows an event between two attempts. With note, an output presents a session.
func (o *output) Event(e event.Event) {
	if o.json {
		(&session.Lines{Out: o.app.Stdout}).Show(e)
		return
	}
	if _, soaks := e.(event.Soak); soaks && o.own == nil {
		(&tui.Lines{Out: o.app.Stdout, Quiet: o.quiet, Verbose: o.verbose}).Show(e)
		return
	}
	if _, text, _ := humanize.Happening(e); text != "" {
		o.note(text)
	}
}

// Note tells something that the user should know.
func (o *output) Note(text string) { o.note(text) }

// begin opens the session of a run.
func (c *change) begin(ctx context.Context, table schema.Name, text string, s *server) error {
	machines := c.machines.Machines
	machines.Log, machines.Line = c.app.Stderr, humanize.Logged
	var err error
	c.run, err = session.Begin(ctx, s, session.Options{
		Table:     table,
		Change:    text,
		Into:      c.options.Into,
		Purpose:   c.options.Purpose,
		Together:  c.config.Together,
		Again:     c.options.Again,
		Reach:     c.app.Reach(),
		Version:   c.app.Version,
		Settings:  c.settings,
		Socket:    c.socket.in(c.app),
		History:   session.Folder{Path: c.history.In(c.app.Process), Named: c.history.Folder != ""},
		Machines:  machines,
		Interrupt: c.app.Interrupts.End,
		Report:    report.WriteAll,
		Reported:  c.output.reported,
		Page:      func(s *session.Session, run record.Run) (func(record.Result), error) { return c.page.show(c, s, run) },
	}, &c.output)
	return exit.Unheld(ctx, err)
}

// underControl does a run while other processes may command it.
func (c *change) underControl(
	ctx context.Context, table schema.Name, text string, s *server, do func() (migration.Result, error),
) (migration.Result, error) {
	var result migration.Result
	err := c.begin(ctx, table, text, s)
	if err == nil {
		result, err = c.obeying(do)
	}
	result.Refused = c.run.Refused()
	c.run.End(c.told(ctx, result, err), err)
	c.run = nil
	return result, err
}

// told is the record of the run's end, or that of the follower that has made the change.
func (c *change) told(ctx context.Context, result migration.Result, err error) record.Result {
	if c.released != nil {
		return *c.released
	}
	told := c.app.Teller().ResultOf(result, err, exit.Code(err, errors.Is(context.Cause(ctx), errInterrupted)))
	if c.rows != nil {
		told.TakeRows(*c.rows)
	}
	told.Rehearsal, told.Undoes, told.Into = c.options.Purpose.Rehearsal(), c.undo != nil, c.options.Into.Dotted()
	return told
}

// obeying does a run that takes commands in another program's way as well.
func (c *change) obeying(do func() (migration.Result, error)) (migration.Result, error) {
	if c.commanded != nil {
		undo, err := c.commanded(c.run)
		if err != nil {
			return migration.Result{}, &exit.Error{Code: exit.WrongUsage, Err: err, Left: "nothing was written"}
		}
		defer undo()
	}
	return do()
}

// migrate makes the plan and carries it out, as often as it takes while the server comes and
// goes, and the operator stops it and lets it go on.
func (c *change) migrate(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
	if err := awaitOther(ctx, c, s, alter.Table); err != nil {
		return migration.Result{}, err
	}
	return c.underControl(ctx, alter.Table, alter.Clauses, s, func() (migration.Result, error) {
		result, err := c.run.Carry(ctx, session.Work{
			Table:      alter.Table,
			Server:     s,
			MustResume: c.mustResume,
			Open:       func(ctx context.Context) (*server, error) { return c.connection.open(ctx, s.Config) },
			Reconnect:  c.reconnect,
			Attempt: func(ctx context.Context, s *server, settings operator.Settings, mustResume bool) (migration.Result, error) {
				c.settings, c.mustResume = settings, mustResume
				return c.attempt(ctx, alter, s)
			},
			Finish: func(ctx context.Context, s *server) (bool, error) {
				_, done, err := c.finish(ctx, alter, s)
				return done, err
			},
		})
		return result, exit.Unheld(ctx, err)
	})
}

// attempt makes the plan and carries it out.
func (c *change) attempt(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
	if c.options.Purpose.Rehearses() {
		return c.rehearse(ctx, alter, s)
	}
	if c.soak.length > 0 {
		return inTwoActs{c}.soaked(ctx, alter, s)
	}
	if result, done, err := c.finish(ctx, alter, s); done || err != nil {
		return result, err
	}
	p, result, err := c.carryOut(ctx, alter, s, (*migration.Migration).Run)
	if errors.Is(err, leftovers.ErrSwapped) { // while this one looked
		return c.attempt(ctx, alter, s)
	}
	if cold := session.ColdAfter(p, c.undo, err); cold != nil {
		c.undo, c.mustResume = cold, false // the lazy one has left nothing
		c.output.note("the undo begins again, by all rows: " + cold.Why)
		return c.attempt(ctx, alter, s)
	}
	if err != nil {
		return result, err
	}
	session.Keep(ctx, s, p.Source.Name, p.Earlier, &result)
	c.output.done(
		p.Source.Name, result, summary.Brief(p, result),
		summary.OfRun(summary.Planned{Plan: p, Config: c.config, Settings: c.settings}, result, record.ProcessUsage(), c.output.style()),
	)
	return result, nil
}

// takeKeys has the run's own display take commands by keys.
func (c *change) takeKeys(d display) {
	if client := c.run.Client(); client != nil {
		c.app.takeKeys(d, commands(client), nil)
	}
}

// commands are those that need no more than their names, for a run to obey.
func commands(run *socket.Client) func(ctx context.Context, command string) error {
	return func(ctx context.Context, command string) error {
		return run.Call(ctx, http.MethodPost, command, struct{}{}, &socket.Answer{})
	}
}
