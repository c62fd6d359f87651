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
	var state string
	words := []string{"waiting", "running", queue.FilterReady, "done", "failed", "aborted", "withdrawn", "unknown"}
	q.checks.Enum("state", "", words, "list only the changes in this state; ready: running, and waiting for their release", func(word string) { state = word })
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
		list, err := q.client.Changes(ctx, state)
		if err != nil {
			return exit.Unanswered(ctx, err, q.to)
		}
		for _, c := range list {
			q.tell(c)
		}
		if len(list) == 0 && !q.json && state != "" {
			fmt.Fprintln(q.app.Stdout, "No change is "+state+".")
		} else if len(list) == 0 && !q.json {
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

// oneID fails unless the arguments are an id.
func oneID(args []string) error {
	if len(args) != 1 {
		return errors.New("name the id of the change; midstream queue  lists the ids")
	}
	return nil
}

func releaseCommand(a *process.Process) *cobra.Command {
	q, cmd := newAsking(a, "release id", "Let a change of midstream serve swap that is ready")
	var asked queue.ReleaseCommand
	q.checks.Bool(&asked.Now, "", "now", "do not wait for the window or the hold file")
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error {
		if err := q.check(oneID(args)); err != nil {
			return err
		}
		answer, err := q.client.Tell(ctx, args[0], "release", asked)
		if err != nil {
			return exit.Unanswered(ctx, err, q.to)
		}
		if q.json {
			q.app.Record(answer)
			return nil
		}
		fmt.Fprintln(q.app.Stdout, answer.Text)
		return nil
	})
	return cmd
}

func withdrawCommand(a *process.Process) *cobra.Command {
	q, cmd := newAsking(a, "withdraw id", "Take a change out of the queue that has not begun")
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error {
		if err := q.check(oneID(args)); err != nil {
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
