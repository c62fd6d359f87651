package client

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/help"
	"midstream/internal/cli/process"
	"midstream/internal/engine/operator"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/queue"
)

// asking talks to a service.
type asking struct {
	app     *process.Process
	checks  flags.Set
	verb    string
	service process.ServiceFlags
	client  *queue.Client
	json    bool
}

func newAsking(a *process.Process, use, short string) (*asking, *cobra.Command) {
	verb, _, _ := strings.Cut(use, " ")
	q := &asking{app: a, verb: verb}
	cmd := &cobra.Command{Use: use, Short: short, Long: help.Text(verb), Args: cobra.ArbitraryArgs}
	q.checks.Flags = cmd.Flags()
	q.checks.Flags.SortFlags = false
	q.checks.Bool(&q.json, "", "json", "print one JSON object a line (docs/openapi-serve.yaml)")
	q.service.Register(&q.checks)
	help.InCommon(cmd.Flags())
	return q, cmd
}

// moment is a flag's value that is a time.
func moment(to **time.Time) func(text string) error {
	return func(text string) error {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return errors.New("must be a time such as 2026-12-01T20:00:00+01:00 (RFC 3339)")
		}
		*to = &at
		return nil
	}
}

// momentOrAfter is a flag's value that is a time, or how long it is until then.
func momentOrAfter(to **time.Time) func(text string) error {
	return func(text string) error {
		after, err := operator.ReadDuration(text, time.Minute, 366*24*time.Hour)
		if err == nil {
			at := time.Now().Add(after).Truncate(time.Second)
			*to = &at
			return nil
		}
		if moment(to)(text) == nil {
			return nil
		}
		return fmt.Errorf("must be a time such as 2026-12-01T20:00:00+01:00 (RFC 3339), or a duration such as 2h: %w", err)
	}
}

// tell prints a change.
func (q *asking) tell(c queue.Change) {
	if q.json {
		q.app.Record(c)
		return
	}
	fmt.Fprintln(q.app.Stdout, summary.ChangeLine(c))
}

// shows prints the address of a change on the page; of "", that of the list.
func (q *asking) shows(id string) {
	if q.json {
		return
	}
	at := strings.TrimSuffix(q.service.At, "/") + "/"
	if id != "" {
		at += "changes/" + url.PathEscape(id)
	}
	fmt.Fprintf(q.app.Stdout, "  %-9s %s\n", "page", escape.Line(at))
}

// check says all that is wrong with the command line.
func (q *asking) check(problems ...error) error {
	client, wrong := q.service.Client(q.app)
	q.client, problems = client, append(problems, wrong...)
	if err := exit.UsageOf("midstream help "+q.verb, append(q.checks.Problems, problems...)...); err != nil {
		return err
	}
	q.app.Stands("asking the service", q.service.At)
	return nil
}
