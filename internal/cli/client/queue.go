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
	var follow, wait bool
	after := 0
	q.checks.Bool(&follow, "", "follow", "print what happens to changes as it happens, until Ctrl-C (docs/people.md)")
	q.checks.Bool(&wait, "", "wait", "with an id: wait until the change has ended, and exit with its code")
	q.checks.Integer(&after, "", "after", 0, 0, 1<<53, "with --follow: begin after the event with this number (0: now)")
	words := []string{"proposed", "waiting", "running", queue.FilterReady, "done", "failed", "aborted", "withdrawn", "unknown"}
	q.checks.Enum("state", "", words, "list only the changes in this state; ready: running, and waiting for their release", func(word string) { state = word })
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error {
		problem := atMostOne(args)
		if follow && (len(args) > 0 || state != "") {
			problem = errors.New("--follow takes no id and no --state: it prints the events of all changes (--wait follows one)")
		} else if wait && (len(args) == 0 || follow || state != "") {
			problem = errors.New("--wait needs the id of one change, and excludes --follow and --state")
		} else if after > 0 && !follow {
			problem = errors.New("--after needs --follow")
		}
		if err := q.check(problem); err != nil {
			return err
		}
		if follow {
			err := q.client.Watch(ctx, uint64(after), q.tellEntry)
			if ctx.Err() != nil {
				return nil
			}
			return exit.Unanswered(ctx, err, q.service.At)
		}
		if len(args) == 1 {
			c, err := q.client.Change(ctx, args[0])
			if err != nil {
				return exit.Unanswered(ctx, err, q.service.At)
			}
			if wait {
				q.tell(c)
				return q.follow(ctx, c)
			}
			q.tellAll(c)
			return nil
		}
		list, err := q.client.Changes(ctx, state)
		if err != nil {
			return exit.Unanswered(ctx, err, q.service.At)
		}
		for _, c := range list {
			q.tell(c)
		}
		if len(list) == 0 && !q.json && state != "" {
			fmt.Fprintln(q.app.Stdout, "No change is "+state+".")
		} else if len(list) == 0 && !q.json {
			fmt.Fprintln(q.app.Stdout, "The queue is empty.")
		}
		if len(list) > 0 {
			q.shows("")
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
	q.shows(c.ID)
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
			return exit.Unanswered(ctx, err, q.service.At)
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

func approveCommand(a *process.Process) *cobra.Command {
	q, cmd := newAsking(a, "approve id", "Approve a change of another person in midstream serve")
	cmd.RunE = q.decides("approve", func() any { return struct{}{} })
	return cmd
}

func rejectCommand(a *process.Process) *cobra.Command {
	q, cmd := newAsking(a, "reject id", "Reject a change of another person in midstream serve")
	var asked queue.Rejection
	q.checks.Flags.StringVar(&asked.Reason, "reason", "", "why, for the author (required)")
	cmd.RunE = q.decides("reject", func() any { return asked })
	return cmd
}

// decides is the body of a verb that approves or rejects.
func (q *asking) decides(command string, asked func() any) func(*cobra.Command, []string) error {
	return q.app.Verb(func(ctx context.Context, args []string) error {
		if err := q.check(oneID(args)); err != nil {
			return err
		}
		c, err := q.client.Decide(ctx, args[0], command, asked())
		if err != nil {
			return exit.Unanswered(ctx, err, q.service.At)
		}
		q.tell(c)
		return nil
	})
}

func withdrawCommand(a *process.Process) *cobra.Command {
	q, cmd := newAsking(a, "withdraw id", "Take a change out of the queue that has not begun")
	var reason string
	q.checks.Flags.StringVar(&reason, "reason", "", "why; the change keeps it")
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error {
		if err := q.check(oneID(args)); err != nil {
			return err
		}
		c, err := q.client.Withdraw(ctx, args[0], reason)
		if err != nil {
			return exit.Unanswered(ctx, err, q.service.At)
		}
		q.tell(c)
		return nil
	})
	return cmd
}
