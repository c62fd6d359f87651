package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/process"
	"midstream/internal/face/summary"
	"midstream/internal/ops/queue"
)

func queueCommand(a *process.Process) *cobra.Command {
	q, cmd := newAsking(a, "queue [id]", "List the changes of midstream serve")
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error {
		if err := q.check(atMostOne(args)); err != nil {
			return err
		}
		if len(args) == 1 {
			c, err := q.client.Change(ctx, args[0])
			if err != nil {
				return exit.Unanswered(ctx, err, q.to)
			}
			q.tellAll(c)
			return nil
		}
		list, err := q.client.Changes(ctx)
		if err != nil {
			return exit.Unanswered(ctx, err, q.to)
		}
		for _, c := range list {
			q.tell(c)
		}
		if len(list) == 0 && !q.json {
			fmt.Fprintln(q.app.Stdout, "The queue is empty.")
		}
		return nil
	})
	return cmd
}

func atMostOne(args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("expected one id, got %d arguments", len(args))
	}
	return nil
}

// tellAll prints all that is known of a change.
func (q *asking) tellAll(c queue.Change) {
	q.tell(c)
	if q.json {
		return
	}
	fmt.Fprint(q.app.Stdout, summary.OfChange(c))
}

func withdrawCommand(a *process.Process) *cobra.Command {
	q, cmd := newAsking(a, "withdraw id", "Take a change out of the queue that has not begun")
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error {
		var problem error
		if len(args) != 1 {
			problem = errors.New("name the id of the change; midstream queue  lists the ids")
		}
		if err := q.check(problem); err != nil {
			return err
		}
		c, err := q.client.Withdraw(ctx, args[0])
		if err != nil {
			return exit.Unanswered(ctx, err, q.to)
		}
		q.tell(c)
		return nil
	})
	return cmd
}
