package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/help"
	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/face/summary"
	"midstream/internal/face/tui"
	"midstream/internal/lab/demo"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// demonstration is the verb demo.
type demonstration struct {
	app     *app
	output  output
	checks  flags.Set
	options demo.Options
	rate    int
	version string
	keep    bool
	steps   *tui.Steps
	result  *record.Result // of the change
}

func (a *app) demoCommand() *cobra.Command {
	d := &demonstration{app: a, output: output{app: a}}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a schema change under traffic, on a throwaway server",
		Long:  help.Text("demo"),
		Args:  cobra.NoArgs,
	}
	f := &d.checks
	f.Flags = cmd.Flags()
	f.Flags.SortFlags = false
	f.Integer(&d.options.Rows, "", "rows", 200_000, 0, 100_000_000, "number of rows in the table")
	f.Flags.StringVar(
		&d.options.Alter, "alter", "ADD COLUMN note VARCHAR(40), ADD INDEX (note)",
		"clauses of the ALTER TABLE shop.orders",
	)
	f.Integer(&d.rate, "", "rate", demoRate, 0, 1_000_000, "transactions per second of the writers; 0: as fast as they can")
	registerVersion(f, &d.version)
	f.Bool(&d.keep, "", "keep", "leave the server running until Ctrl-C, and print how to connect")
	f.Bool(&d.output.noColor, "", "no-color", "no colors on a terminal")
	cmd.RunE = a.Verb(d.run)
	return cmd
}

// demoRate is a load under which a small machine still has room for the change.
const demoRate = 100

func (d *demonstration) run(ctx context.Context, _ []string) (err error) {
	if err := exit.UsageOf("midstream help demo", append(d.checks.Problems, session.OnlyClauses(d.options.Alter))...); err != nil {
		return err
	}
	if d.app.Executable == "" {
		return errors.New("demo: cannot find this program's file, which demo needs to run the change as a child process")
	}
	d.options.Rate = float64(d.rate)
	defer d.app.Interrupts.OnFirst(func() {
		fmt.Fprintln(d.app.Stderr, "midstream: interrupted: stopping the writers and the server, and removing its data")
	})()
	d.steps = &tui.Steps{Out: d.app.Env.Stdout, Live: onTerminal(d.app.Env.Stdout)}
	d.steps.Update("server", "fetching MySQL "+d.version)
	build, err := sandbox.Fetch(ctx, sandbox.Version(d.version), func(text string) { d.steps.Update("server", text) })
	if err != nil {
		return err
	}
	d.steps.Update("server", "starting "+build.Release)
	server, err := build.Start(ctx, sandbox.Options{Durable: true})
	if err != nil {
		return err
	}
	stop := d.app.stopper(server)
	defer func() {
		err = errors.Join(err, stop())
		if err == nil {
			fmt.Fprintln(d.app.Stdout, "The server is stopped, and its data folder removed.")
		}
	}()
	d.steps.End("server", fmt.Sprintf("MySQL %s on %s, every commit synced to disk", build.Release, server.Address))
	return d.show(ctx, server)
}

// show demonstrates on a running server.
func (d *demonstration) show(ctx context.Context, server *sandbox.Server) error {
	proof, err := demo.Run(ctx, d.options, demo.Deps{
		Server: dbconn.Config{Network: "tcp", Address: server.Address, User: server.User, Program: "midstream-demo"},
		Change: func(ctx context.Context, statement string, listen event.Listener) error {
			return d.change(ctx, server, statement, listen)
		},
		Tell: d.tell,
	})
	if err != nil {
		return err
	}
	fmt.Fprint(d.app.Stdout, summary.OfProof(proof, d.result))
	if !proof.Good() {
		err = &exit.Error{Code: exit.Mismatch, Err: errors.New("the table differs from the writers' ledger, or from the requested definition"),
			Next: "run the demo with --keep, and compare the table yourself"}
	}
	if d.keep {
		d.wait(ctx, server)
	}
	return err
}

// change runs the statement in a child, with the display of a run.
func (d *demonstration) change(ctx context.Context, server *sandbox.Server, statement string, listen event.Listener) (err error) {
	fmt.Fprintf(d.app.Stdout, "  %-9s %s\n", "change", statement)
	screen := d.output.display(demo.Table.String())
	d.app.takeKeys(screen, func(ctx context.Context, command string) error { return d.command(ctx, server.Address, command) }, nil)
	relay := session.NewRelay(screen)
	undo := d.app.Interrupts.OnSecond(screen.Abandon)
	to := []string{"--defaults-file=" + os.DevNull, "--host=127.0.0.1", "--port=" + strconv.Itoa(server.Port), "--user=" + server.User}
	d.result, err = d.app.runChild(ctx, append([]string{"run", "--json", "--on-signal=remove", "--method=" + string(plan.MethodShadow), statement}, to...),
		event.Tee(listen, relay.Listen))
	relay.Close()
	undo()
	return err
}

// command has the child obey, once it is there: it is the run on the demo's own server.
func (d *demonstration) command(ctx context.Context, address, command string) error {
	runs, err := findRuns(ctx, d.app, "")
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Found.Server == address {
			return commands(run)(ctx, command)
		}
	}
	return errors.New("the run accepts no commands now")
}

func (d *demonstration) tell(step demo.Step, fraction float64, text string) {
	name := string(step)
	switch {
	case step == demo.StepSeed && fraction < 1:
		d.steps.Update(name, fmt.Sprintf("seeding %s: %s", demo.Table, humanize.Percent(fraction)))
	case step == demo.StepSeed:
		d.steps.End(name, fmt.Sprintf("%s with %s rows, seeded in %s", demo.Table, humanize.Count(d.options.Rows), text))
		d.steps.Update("writer", "warming up")
	case step == demo.StepWrite:
		d.steps.End(name, text+" over 4 connections, of every kind that a ledger can follow; so light a load may slow down by more than 5 %")
	case fraction < 1:
		d.steps.Update(name, "reading the table back")
	default:
		d.steps.Clear()
	}
}

// wait leaves the server running until the operator has seen enough.
func (d *demonstration) wait(ctx context.Context, server *sandbox.Server) {
	fmt.Fprintf(d.app.Stdout, "The server keeps running. Connect with one of\n  mysql --host=127.0.0.1 --port=%d --user=%s %s\n",
		server.Port, server.User, demo.Table.Schema)
	if own := server.Build.Client(ctx, "mysql", append(server.ClientArgs(), demo.Table.Schema)...); own.Err == nil {
		fmt.Fprintf(d.app.Stdout, "  %s\n", strings.Join(own.Args, " "))
	}
	fmt.Fprintln(d.app.Stdout, "Ctrl-C stops it and removes its data.")
	<-ctx.Done()
}

// runChild runs this program, and returns the result. Its error has the exit code of the child.
func (a *app) runChild(ctx context.Context, args []string, listen event.Listener) (*record.Result, error) {
	result, err := session.RunChild(ctx, a.Executable, args, a.Interrupts.OnSecond, listen)
	if err == nil && result.ExitCode != exit.Done {
		err = childError(result)
	}
	return result, err
}

// childError is a child's failure with its exit code.
func childError(r *record.Result) error {
	text := r.Error
	if r.Phase != "" {
		text = "in phase " + r.Phase + ": " + text
	}
	return &exit.Error{Code: r.ExitCode, Err: fmt.Errorf("run %s %s", r.Outcome, text), Left: r.Left, Next: r.Next}
}
