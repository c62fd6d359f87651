package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// ordered is a change of several statements, one after the other.
type ordered struct{ *change }

// conduct does what a verb does about several statements, one after the other, and ends at the first that fails.
func (c ordered) conduct(ctx context.Context, statements []string, do func(*change) doing) error {
	states, read, problems := c.read(statements)
	if err := exit.UsageOf(c.help, problems...); err != nil {
		return err
	}
	end := session.EndOf(c.target.Verb, c.rehearsal.purpose().Rehearses())
	for i, text := range statements {
		one := *c.change
		one.tables = slices.Concat(states[:i], states[i+1:])
		c.output.text("Statement %d of %d: %s\n", i+1, len(statements), strings.Join(strings.Fields(text), " "))
		state, does := end, do(&one)
		if later := session.LaterOf(read, i); later != nil && (end == session.StatePlanned || end == session.StateChecked) {
			state, does = session.StateLater, ordered{&one}.later(later, text)
			one.tables = append(one.tables, record.Table{Table: states[i].Table, State: state, Place: states[i].Place})
		}
		err := (&one).conduct(ctx, []string{text}, does)
		c.connection = one.connection // with the password that was asked for
		if states[i].State = state; err != nil {
			states[i].State = session.StateFailed
			c.output.text("%s", escape.Ours(summary.OfStatements(states, statements)))
			return err
		}
	}
	c.output.text("%s", escape.Ours(summary.OfStatements(states, statements)))
	return nil
}

// later asks the server about a statement that waits for another one, and writes the answer.
func (c ordered) later(l *session.Later, text string) doing {
	answered := func(answer *plan.Answer) (migration.Result, error) {
		c.output.text("%s", escape.Ours(summary.OfLater(l, answer, c.target.Verb)))
		if c.output.format == planSQL {
			fmt.Fprintln(c.app.Stdout, strings.TrimSpace(text)+";")
		}
		return migration.Result{}, nil
	}
	return doing{func(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
		answer, err := l.Ask(ctx, s, alter, c.options)
		if err != nil {
			return migration.Result{}, exit.Unplanned(ctx, err)
		}
		return answered(answer)
	}, func(context.Context, *ddl.Statement, *server) (migration.Result, error) { return answered(nil) }}
}

// read reads several statements. It returns the first table of each, the statements, and all that is wrong.
func (c ordered) read(statements []string) (states []record.Table, read []*ddl.Statement, problems []error) {
	for i, text := range statements {
		target := session.Target{Verb: c.target.Verb, Database: c.target.Database}
		place := fmt.Sprintf("statement %d", i+1)
		statement, err := target.Parse([]string{text})
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", place, err))
			continue
		}
		read = append(read, statement)
		states = append(states, record.Table{Table: statement.Tables()[0].Dotted(), State: session.StateWaiting, Place: place})
	}
	for _, flag := range []string{"listen", "soak", "into", "shadow-name", "old-name", "key", "map", "keep", "set", "result-file"} {
		if c.checks.Flags.Changed(flag) {
			problems = append(problems, fmt.Errorf("--%s is for one statement: give the statements one by one", flag))
		}
	}
	if c.config.Warm && c.config.Undo > 0 {
		problems = append(problems, errors.New("--undo-mode=warm is for one statement: its run continues after the swap"))
	}
	return states, read, problems
}
