package kept

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/help"
	"midstream/internal/cli/process"
	"midstream/internal/face/report"
	"midstream/internal/face/summary"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

// reporting is midstream report.
type reporting struct {
	app     *process.Process
	checks  flags.Set
	history Flags
	list    bool
	limit   int // of list; 0 for all
	json    bool
	form    string
	out     string
}

// ReportCommand is the verb report.
func ReportCommand(a *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report [ID | database.table | FILE.jsonl]",
		Short: "Write the report of a run: a page with its plan, plots and events",
		Long:  help.Text("report"),
		Example: `  midstream report --list
  midstream report shop.orders --out=orders.html
  midstream report | less`,
		Args: cobra.MaximumNArgs(1),
	}
	r := &reporting{app: a, checks: flags.Set{Flags: cmd.Flags()}}
	r.checks.Flags.SortFlags = false
	r.checks.Flags.BoolVar(&r.list, "list", false, "list the runs, the newest first")
	r.checks.Flags.IntVar(&r.limit, "limit", mostListed, "largest number of runs that --list prints; 0 for all; no effect with --json")
	r.checks.Flags.BoolVar(&r.json, "json", false, "with --list: print one JSON object a line, with the run and its result")
	var names []string
	for _, form := range report.Forms() {
		names = append(names, form.Name)
	}
	r.form = names[0]
	r.checks.Enum("format", r.form, names, "format of the report; without this flag and --out, md", func(word string) { r.form = word })
	r.checks.Flags.StringVar(&r.out, "out", "-", "write the report to this file; - is standard output")
	r.checks.Flags.StringVar(&r.history.Folder, "history-dir", "", DirUse)
	cmd.RunE = a.Verb(func(_ context.Context, args []string) error {
		if err := exit.UsageOf("midstream report --help", r.checks.Problems...); err != nil {
			return err
		}
		if r.limit < 0 {
			return exit.UsageOf("midstream report --help", fmt.Errorf("--limit must not be negative, got %d", r.limit))
		}
		a.Stands("report", strings.Join(args, ""))
		if r.list {
			return r.listRuns(strings.Join(args, ""))
		}
		return r.write(strings.Join(args, ""))
	})
	return cmd
}

// mostListed is the default of --limit.
const mostListed = 50

func (r *reporting) write(word string) error {
	story, err := r.history.story(r.app, word)
	if err != nil {
		return err
	}
	terminal := r.out == "-" && r.app.Env.Stdout != nil && term.IsTerminal(int(r.app.Env.Stdout.Fd()))
	if r.out == "-" && !r.checks.Flags.Changed("format") {
		r.form = "md" // the page is not for reading on a terminal, or in less
	}
	made, form := report.Of(story), report.FormOf(r.form)
	if r.out == "-" {
		if err := form.Fits(terminal); err != nil {
			return exit.UsageOf("midstream report --help", err)
		}
		if err := form.Write(made, r.app.Env.Stdout); !errors.Is(err, syscall.EPIPE) { // each form escapes by itself
			return err
		}
		return nil // head has seen enough
	}
	if err := report.WriteFile(r.out, func(out io.Writer) error { return form.Write(made, out) }); err != nil {
		return &exit.Error{Code: exit.Failed, Err: fmt.Errorf("write the report: %w", err), Next: "name another file by --out"}
	}
	return nil
}

// listed is a line of --list --json.
type listed struct {
	Run    record.Run     `json:"run"`
	Result *record.Result `json:"result"`
}

func (r *reporting) listRuns(table string) error {
	entries, err := history.List(r.history.In(r.app))
	if err != nil {
		return &exit.Error{Code: exit.Failed, Err: err, Next: "--history-dir names another folder"}
	}
	entries = slices.DeleteFunc(entries, func(e history.Entry) bool { return table != "" && !e.Of(table) })
	if !r.json {
		fmt.Fprint(r.app.Stdout, summary.OfEntries(entries, r.limit))
		return nil
	}
	for _, e := range entries {
		r.app.Record(listed{e.Run, e.Result})
	}
	return nil
}
