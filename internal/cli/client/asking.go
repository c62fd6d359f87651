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
	"midstream/internal/face/summary"
	"midstream/internal/ops/queue"
)

// asking talks to a service.
type asking struct {
	app    *process.Process
	checks flags.Set
	verb   string
	to     string
	token  process.TokenFlag
	ca     string
	client *queue.Client
	json   bool
}

func newAsking(a *process.Process, use, short string) (*asking, *cobra.Command) {
	verb, _, _ := strings.Cut(use, " ")
	q := &asking{app: a, verb: verb}
	cmd := &cobra.Command{Use: use, Short: short, Long: help.Text(verb), Args: cobra.ArbitraryArgs}
	q.checks.Flags = cmd.Flags()
	q.checks.Flags.SortFlags = false
	q.checks.Bool(&q.json, "", "json", "print one JSON object a line (docs/openapi-serve.yaml)")
	q.checks.Flags.StringVar(&q.to, "service", "http://"+process.UsualListen, "URL of midstream serve")
	q.checks.Flags.StringVar(&q.to, "to", "http://"+process.UsualListen, "former name of --service; it works as before")
	q.token.Register(&q.checks)
	q.checks.Flags.StringVar(
		&q.ca, "tls-ca", "",
		"PEM file of the certificates that sign the service's certificate, in addition to those of this machine",
	)
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

// tell prints a change.
func (q *asking) tell(c queue.Change) {
	if q.json {
		q.app.Record(c)
		return
	}
	fmt.Fprintln(q.app.Stdout, summary.ChangeLine(c))
}

// check says all that is wrong with the command line.
func (q *asking) check(problems ...error) error {
	at, err := url.Parse(q.to)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		problems = append(problems, fmt.Errorf("--service %s: must be a URL that begins with http:// or https://", q.to))
	}
	trusting, err := queue.Trusting(q.ca)
	if err != nil {
		problems = append(problems, fmt.Errorf("--tls-ca %s: %w", q.ca, err))
	}
	q.client = &queue.Client{At: q.to, HTTP: trusting, Token: func() (string, error) { return q.token.Read(q.app) }}
	if err := exit.UsageOf("midstream help "+q.verb, append(q.checks.Problems, problems...)...); err != nil {
		return err
	}
	q.app.Stands("asking the service", q.to)
	return nil
}
