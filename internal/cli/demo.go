package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
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
	checks  checks
	options demo.Options
	rate    int
	version string
	keep    bool
	steps   *steps
	result  *record.Result // of the change
}

func (a *app) demoCommand() *cobra.Command {
	d := &demonstration{app: a, output: output{app: a}}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a schema change under traffic, on a throwaway server",
		Long: "Demo fetches MySQL from this machine's package sources, starts a throwaway server with full\n" +
			"durability, makes shop.orders, writes to it over several connections, runs one schema change in a\n" +
			"child process (midstream run), stops the writers, and compares the table, row by row, with what\n" +
			"every committed transaction left behind. It exits with 0 only if everything is equal.\n\n" +
			"The writers' own columns may be renamed by --alter, but must keep their values; the column legacy is\n" +
			"free for anything.",
		Args: cobra.NoArgs,
	}
	f := &d.checks
	f.flags = cmd.Flags()
	f.flags.SortFlags = false
	f.integer(&d.options.Rows, "", "rows", 200_000, 0, 100_000_000, "rows of the table")
	f.flags.StringVar(
		&d.options.Alter, "alter", "ADD COLUMN note VARCHAR(40), ADD INDEX (note)",
		"the change: what follows ALTER TABLE shop.orders",
	)
	f.integer(&d.rate, "", "rate", demoRate, 0, 1_000_000, "transactions a second of the writers; 0: as fast as they can")
	registerVersion(f, &d.version)
	f.boolean(&d.keep, "", "keep", "leave the server running until Ctrl-C, and say how to connect")
	f.boolean(&d.output.noColor, "", "no-color", "no colors on a terminal")
	cmd.RunE = a.verb(d.run)
	return cmd
}

// demoRate is a load under which a small machine still has room for the change.
const demoRate = 100

func (d *demonstration) run(ctx context.Context, _ []string) (err error) {
	if err := usageOf("midstream help demo", append(d.checks.problems, onlyClauses(d.options.Alter))...); err != nil {
		return err
	}
	if d.app.Executable == "" {
		return errors.New("demo: this program can't find itself to run the change as a child")
	}
	d.options.Rate = float64(d.rate)
	defer d.app.Interrupts.OnFirst(func() {
		fmt.Fprintln(d.app.Stderr, "midstream: interrupted: stopping the writers and the server, and removing its data")
	})()
	d.steps = &steps{out: d.app.Env.Stdout, live: onTerminal(d.app.Env.Stdout)}
	d.steps.update("server", "fetching MySQL "+d.version)
	build, err := sandbox.Fetch(ctx, sandbox.Version(d.version), func(text string) { d.steps.update("server", text) })
	if err != nil {
		return err
	}
	d.steps.update("server", "starting "+build.Release)
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
	d.steps.end("server", fmt.Sprintf("MySQL %s on %s, every commit synced to disk", build.Release, server.Address))
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
	fmt.Fprint(d.app.Stdout, d.proofText(proof))
	if !proof.Good() {
		err = &coded{code: exitMismatch, err: errors.New("the table is not what the writers left, or not what was asked for"),
			next: "keep the server with --keep and look"}
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
	d.result, err = d.app.runChild(ctx, []string{"run", "--json", "--method=" + string(plan.MethodShadow), "--defaults-file=" + os.DevNull,
		"--host=127.0.0.1", "--port=" + strconv.Itoa(server.Port), "--user=" + server.User, statement},
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
	return errors.New("the run takes no commands now")
}

func (d *demonstration) tell(step demo.Step, fraction float64, text string) {
	name := string(step)
	switch {
	case step == demo.StepSeed && fraction < 1:
		d.steps.update(name, fmt.Sprintf("seeding %s: %s", demo.Table, humanize.Percent(fraction)))
	case step == demo.StepSeed:
		d.steps.end(name, fmt.Sprintf("%s with %s rows, seeded in %s", demo.Table, humanize.Count(d.options.Rows), text))
		d.steps.update("writer", "warming up")
	case step == demo.StepWrite:
		d.steps.end(name, text+" over 4 connections, of every kind that a ledger can follow")
	case fraction < 1:
		d.steps.update(name, "reading the table back")
	default:
		d.steps.clear()
	}
}

// proofText tells what was found.
func (d *demonstration) proofText(p *demo.Proof) string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s %s\n", label, humanize.Wrapped(fmt.Sprintf(format, args...), 86, "            "))
	}
	c, r := p.Compared, d.result
	b.WriteString("Proof\n")
	verdict := "equal"
	if !c.Equal() {
		verdict = "DIFFERENT"
	}
	line(
		verdict,
		"%s rows of %d columns compared with the writers' ledger (%s of them written meanwhile): %s differing, %s missing, %s too many",
		humanize.Count(c.Rows), c.Columns, humanize.Count(c.Touched), humanize.Count(c.Differing), humanize.Count(c.Missing),
		humanize.Count(c.Extra),
	)
	for _, difference := range c.FirstDifferences[:min(5, len(c.FirstDifferences))] {
		line("", "%s", difference)
	}
	if p.Altered {
		line("schema", "the table has its new definition")
	} else {
		line("schema", "THE DEFINITION IS THE OLD ONE")
	}
	copied := r.CopyMS.Duration()
	line("elapsed", "%s; %s rows copied in %s (%s/s)%s", humanize.Span(r.ElapsedMS.Duration()), humanize.Count(r.RowsCopied),
		humanize.Span(copied), humanize.Rate(float64(r.RowsCopied)/max(copied.Seconds(), 1e-9)), indexTime(r.IndexMS.Duration()))
	line("changes", "%s captured: %s applied, %s left to the row copy, %s merged",
		humanize.Count(r.Captured), humanize.Count(r.Applied), humanize.Count(r.Dropped), humanize.Count(r.Merged))
	line("writers", "%s transactions meanwhile (%.0f/s; %.0f/s before)",
		humanize.Count(p.During.Transactions), p.During.TransactionsPerSecond(), p.Before.TransactionsPerSecond())
	line("waits", "%s; before the change: %s", waitText(p.Longest), humanize.Span(p.Before.Max()))
	line("lock", "held for %s at the cut-over, %s applied under it, %s",
		humanize.Span(r.LockHeldMS.Duration()), humanize.Plural(r.DrainedKeys, "key"), humanize.Plural(r.Attempts, "attempt"))
	line("client", "%s of memory at most, %s of CPU (the process that ran the change; the writers are in another)",
		humanize.Size(r.PeakRSSBytes), humanize.Span(r.CPUMS.Duration()))
	return b.String()
}

func waitText(w demo.Wait) string {
	when := fmt.Sprintf("%s into the change, in phase %s", humanize.Span(max(0, w.Into)), w.Phase)
	if w.After {
		when = "after the change"
	}
	return fmt.Sprintf("no statement of theirs took longer than %s (kind: %s; %s)", humanize.Span(w.Took), w.Kind, when)
}

// wait leaves the server running until the operator has seen enough.
func (d *demonstration) wait(ctx context.Context, server *sandbox.Server) {
	fmt.Fprintf(d.app.Stdout, "The server goes on. Connect with one of\n  mysql --host=127.0.0.1 --port=%d --user=%s %s\n",
		server.Port, server.User, demo.Table.Schema)
	if own := server.Build.Client(ctx, "mysql", append(server.ClientArgs(), demo.Table.Schema)...); own.Err == nil {
		fmt.Fprintf(d.app.Stdout, "  %s\n", strings.Join(own.Args, " "))
	}
	fmt.Fprintln(d.app.Stdout, "Ctrl-C stops it and removes its data.")
	<-ctx.Done()
}

// steps shows steps that take a while: on a terminal in a line that is drawn anew. It is
// safe for concurrent use.
type steps struct {
	out  *os.File
	live bool

	mu   sync.Mutex
	last string
}

func (s *steps) update(label, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live || text == s.last {
		return
	}
	s.last = text
	fmt.Fprintf(s.out, "\r\x1b[K  %-9s %s", label, humanize.OneLine(text, 68))
}

func (s *steps) end(label, text string) {
	s.clear()
	fmt.Fprintf(s.out, "  %-9s %s\n", label, text)
}

func (s *steps) clear() {
	if s.live {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
}

func indexTime(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return "; indexes built in " + humanize.Span(d)
}
