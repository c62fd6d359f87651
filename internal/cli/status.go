package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/kept"
	"midstream/internal/face/summary"
	"midstream/internal/face/tui"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

func (a *app) statusCommand() *cobra.Command {
	c, cmd := a.newCommanding("status [database.table]", "Show the runs of this machine")
	var histories kept.Flags
	cmd.Flags().StringVar(&histories.Folder, "history-dir", "", kept.DirUse)
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error { return c.status(ctx, args, histories.In(a.Process)) })
	return cmd
}

func (a *app) watchCommand() *cobra.Command {
	c, cmd := a.newCommanding("watch [database.table]", "Follow a run from another terminal")
	cmd.RunE = a.Verb(c.watch)
	return cmd
}

// runs finds those that a verb which only looks is about.
func (c *commanding) runs(ctx context.Context, args []string) ([]*socket.Client, error) {
	table, _, err := c.parse(args)
	if err := exit.UsageOf("midstream help "+c.verb, append(c.checks.Problems, err)...); err != nil {
		return nil, err
	}
	return c.find(ctx, table)
}

func (c *commanding) status(ctx context.Context, args []string, histories string) error {
	runs, err := c.runs(ctx, args)
	table, _, _ := c.parse(args)
	idle := summary.IdleIn(histories, table, c.server, socket.Active(runs))
	if err != nil && (exit.Code(err, false) != exit.NoRun || idle.Nothing()) {
		return err
	}
	if !c.json {
		fmt.Fprint(c.app.Stdout, summary.OfAll(runs, idle, table))
		return nil
	}
	for _, run := range runs {
		c.app.Record(run.Found)
	}
	for _, known := range idle.Records() {
		c.app.Record(known)
	}
	return nil
}

func (c *commanding) watch(ctx context.Context, args []string) error {
	runs, err := c.runs(ctx, args)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		fmt.Fprintln(c.app.Stderr, noRuns)
		return nil
	}
	var watching sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for _, run := range runs {
		watching.Go(func() {
			err := c.watchOne(ctx, run, len(runs) > 1, &mu)
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() == nil && failed == nil {
				failed = err
			}
		})
	}
	watching.Wait()
	return failed
}

// watchOne shows one run; of several each line begins with the table. mu is held while a line is written.
func (c *commanding) watchOne(ctx context.Context, run *socket.Client, several bool, mu *sync.Mutex) error {
	out := &tui.Prefixed{Out: c.app.Stdout, Mu: mu}
	if c.json {
		return run.Events(ctx, func(line []byte) {
			if several {
				table, _ := json.Marshal(run.Found.Table)
				line = append(fmt.Appendf(nil, `{"table":%s,`, table), line[1:]...)
			}
			_, _ = out.Write(line)
		})
	}
	var screen display = &tui.Lines{Out: out}
	if several {
		out.Prefix = schema.NameOf(run.Found.Table).String() + "  "
	} else {
		screen = (&output{app: c.app}).display(schema.NameOf(run.Found.Table).String())
		var leave context.CancelFunc
		ctx, leave = context.WithCancel(ctx)
		defer leave()
		c.app.takeKeys(screen, commands(run), leave)
	}
	var result *record.Result
	err := run.Events(ctx, func(line []byte) {
		e, r, err := record.Read(line)
		switch {
		case err != nil: // another version's
		case r != nil:
			result = r
		case e != nil:
			screen.Show(e)
		}
	})
	screen.Close()
	if ctx.Err() != nil {
		err = nil // whoever looked has left
	}
	if result != nil {
		fmt.Fprintln(out, summary.OfEnd(*result))
	}
	return err
}
