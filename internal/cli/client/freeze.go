package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/process"
	"midstream/internal/engine/units"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/queue"
)

func freezeCommand(a *process.Process) *cobra.Command {
	q, cmd := newAsking(a, "freeze", "Freeze a server of midstream serve: no change begins or swaps")
	cmd.Example = "  midstream freeze --server main --reason \"incident 4711\" --until 2h\n  midstream freeze"
	var asked queue.FreezeRequest
	q.checks.Flags.StringVar(&asked.Server, "server", "", "name of the server; all: every server")
	q.checks.Flags.StringVar(&asked.Reason, "reason", "", "why, for the others (required)")
	q.checks.Add("", "until", "time", "", "end by itself at this time, such as 2026-12-01T20:00:00+01:00, or after 2h", momentOrAfter(&asked.Until))
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error {
		lists := asked.Server == "" && asked.Reason == "" && asked.Until == nil
		problem := noArguments(args)
		if !lists && (asked.Server == "" || asked.Reason == "") {
			problem = errors.New("add --server and --reason; midstream freeze  alone lists the servers that are frozen")
		}
		if err := q.check(problem); err != nil {
			return err
		}
		var all []queue.Freeze
		var err error
		if lists {
			all, err = q.client.Freezes(ctx)
		} else {
			all = make([]queue.Freeze, 1)
			all[0], err = q.client.Freeze(ctx, asked)
		}
		if err != nil {
			return exit.Unanswered(ctx, err, q.service.At)
		}
		for _, f := range all {
			q.tellFreeze(f, "is frozen")
		}
		if len(all) == 0 && !q.json {
			fmt.Fprintln(q.app.Stdout, "No server is frozen.")
		}
		return nil
	})
	return cmd
}

func unfreezeCommand(a *process.Process) *cobra.Command {
	q, cmd := newAsking(a, "unfreeze", "End the freeze of a server of midstream serve")
	cmd.Example = "  midstream unfreeze --server main"
	var server string
	q.checks.Flags.StringVar(&server, "server", "", "name of the server; all: the freeze of every server")
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error {
		problem := noArguments(args)
		if server == "" {
			problem = errors.New("name the server: --server main; midstream freeze  lists the servers that are frozen")
		}
		if err := q.check(problem); err != nil {
			return err
		}
		f, err := q.client.Unfreeze(ctx, server)
		if err != nil {
			return exit.Unanswered(ctx, err, q.service.At)
		}
		q.tellFreeze(f, "was frozen, and no longer is")
		return nil
	})
	return cmd
}

func noArguments(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("expected no arguments, got %d", len(args))
	}
	return nil
}

// tellFreeze prints a freeze.
func (q *asking) tellFreeze(f queue.Freeze, is string) {
	if q.json {
		q.app.Record(f)
		return
	}
	text := f.Server + " " + is
	if f.Until != nil {
		text += " (until " + units.Minute(*f.Until) + ")"
	}
	fmt.Fprintln(q.app.Stdout, escape.Line(fmt.Sprintf("%s: since %s, by %s: %s", text, units.Minute(f.Since), f.By, f.Reason)))
}
