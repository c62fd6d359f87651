package client

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/process"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/audit"
	"midstream/internal/ops/queue"
)

func auditCommand(a *process.Process) *cobra.Command {
	q, cmd := newAsking(a, "audit [id]", "List who did what in midstream serve, the newest first")
	var asked queue.AuditQuestion
	before := 0
	q.checks.Integer(&asked.Most, "", "most", 100, 1, 1000, "the most entries")
	q.checks.Integer(&before, "", "before", 0, 0, 1<<53, "only entries with a lower number, for the next page (0: from the newest)")
	q.checks.Flags.StringVar(&asked.Who, "who", "", "only what this person did")
	q.checks.Bool(&asked.States, "", "states", "also what became of changes")
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error {
		if err := q.check(atMostOne(args)); err != nil {
			return err
		}
		if asked.Before = uint64(before); len(args) == 1 {
			asked.Change = args[0]
		}
		list, err := q.client.Audit(ctx, asked)
		if err != nil {
			return exit.Unanswered(ctx, err, q.service.At)
		}
		for _, e := range list {
			q.tellEntry(e)
		}
		if len(list) == 0 && !q.json {
			fmt.Fprintln(q.app.Stdout, "No entry.")
		}
		return nil
	})
	return cmd
}

// tellEntry prints an entry of the journal.
func (q *asking) tellEntry(e audit.Entry) {
	if q.json {
		q.app.Record(e)
		return
	}
	words := []string{fmt.Sprintf("%d  %s", e.ID, e.At.UTC().Format("2006-01-02 15:04:05 UTC"))}
	if e.Action != "" {
		words = append(words, e.Action, summary.EntryWho(e))
	}
	if e.Change == "" && e.Set != "" {
		words = append(words, "set "+e.Set)
	}
	if e.Change != "" {
		words = append(words, "change "+e.Change+" ("+e.Table+" on "+e.Server+")")
	}
	if e.State != "" {
		words = append(words, "is "+e.State)
	}
	fmt.Fprintln(q.app.Stdout, escape.Line(strings.Join(words, "  ")+summary.EntryMore(e)))
}
