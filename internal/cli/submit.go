package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/face/summary"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/socket"
)

// asking talks to a service.
type asking struct {
	app    *app
	checks checks
	verb   string
	to     string
	token  tokenFlag
	ca     string
	client *http.Client
	json   bool
}

func (a *app) newAsking(use, short string) (*asking, *cobra.Command) {
	verb, _, _ := strings.Cut(use, " ")
	q := &asking{app: a, verb: verb}
	cmd := &cobra.Command{Use: use, Short: short, Long: helpText(verb), Args: cobra.ArbitraryArgs}
	q.checks.flags = cmd.Flags()
	q.checks.flags.SortFlags = false
	q.checks.boolean(&q.json, "", "json", "one JSON object a line, as docs/openapi-serve.yaml has them")
	q.checks.flags.StringVar(&q.to, "to", "http://"+usualListen, "where midstream serve answers")
	q.token.register(&q.checks)
	q.checks.flags.StringVar(
		&q.ca, "tls-ca", "",
		"file of the certificates that sign the service's, in PEM form, in addition to this machine's",
	)
	return q, cmd
}

// submitting is the verb submit.
type submitting struct {
	*asking
	asked   queue.Submission
	options map[string]string
	wait    bool
}

func (a *app) submitCommand() *cobra.Command {
	q, cmd := a.newAsking(`submit "ALTER TABLE database.table ..."`, "Put a change into the queue of midstream serve")
	cmd.Example = "  midstream submit \"ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40)\" --server main --option drop-old\n" +
		"  midstream submit \"DROP TABLE shop.orders_2019\" --server main --id drop-2019 --after add-note --wait"
	s := &submitting{asking: q, options: map[string]string{}}
	f := &q.checks
	f.flags.StringVar(&s.asked.Server, "server", "", "server, by the name that the service has for it")
	f.flags.StringVar(&s.asked.ID, "id", "", "id of the change (one is made)")
	f.add("", "after", "id", "", "a change that must be done before; may be repeated", func(text string) error {
		s.asked.After = append(s.asked.After, text)
		return nil
	})
	f.add("", "option", "name=value", "", "a flag of midstream run for this change; may be repeated", func(text string) error {
		name, value, said := strings.Cut(strings.TrimPrefix(text, "--"), "=")
		if name == "" {
			return errors.New("it is name=value")
		}
		if !said {
			value = "true"
		}
		s.options[name] = value
		return nil
	})
	f.boolean(&s.wait, "", "wait", "wait until the change has ended, and exit with its code")
	cmd.RunE = a.verb(s.run)
	return cmd
}

func (s *submitting) run(ctx context.Context, args []string) error {
	var problems []error
	if len(args) != 1 {
		problems = append(problems, fmt.Errorf("one statement is expected, and there are %d arguments: put it in quotes", len(args)))
	}
	if s.asked.Server == "" {
		problems = append(problems, errors.New("say for which server of the service: --server main"))
	}
	if err := s.check(problems...); err != nil {
		return err
	}
	s.asked.Statement, s.asked.Options, s.asked.By = args[0], s.options, thisUser()
	var c queue.Change
	if err := s.call(ctx, http.MethodPost, "changes", s.asked, &c); err != nil {
		return err
	}
	s.tell(c)
	if !s.wait {
		return nil
	}
	return s.follow(ctx, c)
}

// thisUser says who gives the command.
func thisUser() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// look is how often is asked how a change stands, and absence how long a service may be away
// meanwhile: it may be started again, and what is submitted to it goes on.
const (
	look    = time.Second
	absence = 5 * time.Minute
)

// away says that an error may be one of a service that is there again in a while.
func away(err error) bool {
	var p *socket.Problem
	var c *coded
	return !(errors.As(err, &p) && p.Status < http.StatusInternalServerError || errors.As(err, &c) && c.code == exitUsage)
}

// follow tells how a change goes on until it has ended.
func (s *submitting) follow(ctx context.Context, c queue.Change) error {
	heard := time.Now()
	for !c.State.Over() {
		left := coded{left: "the change stays in the queue, or at work", next: "midstream queue " + c.ID + "; midstream withdraw " + c.ID}
		select {
		case <-ctx.Done():
			left.code, left.err = exitAborted, errors.New("the waiting for change "+c.ID)
			return &left
		case <-time.After(look):
		}
		before := c
		if err := s.call(ctx, http.MethodGet, "changes/"+c.ID, nil, &c); err != nil {
			switch c = before; {
			case ctx.Err() != nil || away(err) && time.Since(heard) < absence:
				continue
			case away(err):
				left.code, left.err = exitFailed, fmt.Errorf("the waiting for change %s: %w", c.ID, err)
				return &left
			}
			return err
		}
		heard = time.Now()
		if c.State != before.State || c.State == queue.StateWaiting && c.Why != before.Why {
			s.tell(c)
		}
	}
	code := exitFailed
	switch {
	case c.ExitCode != nil:
		code = *c.ExitCode
	case c.State == queue.StateUnknown:
		code = exitUnknown
	case c.State == queue.StateWithdrawn:
		code = exitAborted
	}
	if code == exitDone {
		return nil
	}
	return &coded{
		code: code,
		err:  fmt.Errorf("change %s is %s: %s", c.ID, c.State, c.Why),
		left: "as the change has it; midstream queue " + c.ID + " tells it again",
		next: c.Next,
	}
}

// tell prints a change.
func (q *asking) tell(c queue.Change) {
	if q.json {
		(&jsonLines{out: q.app.Stdout}).write(c)
		return
	}
	fmt.Fprintln(q.app.Stdout, summary.ChangeLine(c))
}

func (a *app) queueCommand() *cobra.Command {
	q, cmd := a.newAsking("queue [id]", "List the changes of midstream serve")
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		if err := q.check(atMostOne(args)); err != nil {
			return err
		}
		if len(args) == 1 {
			var c queue.Change
			if err := q.call(ctx, http.MethodGet, "changes/"+url.PathEscape(args[0]), nil, &c); err != nil {
				return err
			}
			q.tellAll(c)
			return nil
		}
		var list []queue.Change
		if err := q.call(ctx, http.MethodGet, "changes", nil, &list); err != nil {
			return err
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
		return fmt.Errorf("one id is expected, and there are %d arguments", len(args))
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

func (a *app) withdrawCommand() *cobra.Command {
	q, cmd := a.newAsking("withdraw id", "Take a change out of the queue that has not begun")
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		var problem error
		if len(args) != 1 {
			problem = errors.New("say the id of the change: midstream queue lists them")
		}
		if err := q.check(problem); err != nil {
			return err
		}
		var c queue.Change
		if err := q.call(ctx, http.MethodDelete, "changes/"+url.PathEscape(args[0]), nil, &c); err != nil {
			return err
		}
		q.tell(c)
		return nil
	})
	return cmd
}

// check says all that is wrong with the command line.
func (q *asking) check(problems ...error) error {
	at, err := url.Parse(q.to)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		problems = append(problems, fmt.Errorf("--to %s: it is a URL that begins with http:// or https://", q.to))
	}
	if q.client, err = queue.Trusting(q.ca); err != nil {
		problems = append(problems, fmt.Errorf("--tls-ca %s: %w", q.ca, err))
	}
	return usageOf("midstream help "+q.verb, append(q.checks.problems, problems...)...)
}

// call asks the service.
func (q *asking) call(ctx context.Context, method, path string, body, answer any) error {
	q.app.stands("asking the service", q.to)
	token, err := q.token.read(q.app)
	if err != nil {
		return &coded{
			code: exitUsage,
			err:  fmt.Errorf("the token of the service: %w", err),
			left: "nothing was asked",
			next: "name the file by --token-file",
		}
	}
	request, err := socket.Request(ctx, method, strings.TrimSuffix(q.to, "/")+"/v1/"+path, body)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := q.client.Do(request)
	if err != nil {
		if interruptedBy(ctx, err) {
			return errInterrupted
		}
		return &coded{
			code: exitFailed,
			err:  fmt.Errorf("ask the service: %w", err),
			left: "it is not known whether the service got the request, if it was reached",
			next: "see that midstream serve is at work there, and name it by --to; with --id a submission may be repeated",
		}
	}
	defer response.Body.Close()
	return serviceError(socket.ReadAnswer(response, answer), q.to)
}

// serviceError is what a service has answered, with its exit code.
func serviceError(err error, to string) error {
	var p *socket.Problem
	if err == nil {
		return nil
	}
	if !errors.As(err, &p) {
		return fmt.Errorf("ask the service at %s: %w", to, err)
	}
	if p.Status == http.StatusNotFound {
		return &coded{code: exitNoRun, err: p, next: p.Next}
	}
	var c *coded
	if told := commandError(p); errors.As(told, &c) {
		c.left = "nothing has changed"
		return c
	}
	return err
}
