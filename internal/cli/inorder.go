package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"midstream/internal/cli/exit"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// ordered is a change of several statements, one after the other.
type ordered struct{ *change }

// several returns the statements of a verb that got several of them, in its arguments or in a file; nil for one. Arguments that are
// words of one statement without quotes are not several.
func (c ordered) several(args []string) ([]string, error) {
	if c.file == "" && (c.undo != nil || c.target.To != "" || slices.ContainsFunc(args, func(arg string) bool { return !strings.Contains(strings.TrimSpace(arg), " ") })) {
		return nil, nil
	}
	if c.file == "" {
		if all := session.Statements(args); len(all) > 1 {
			return all, nil
		}
		return nil, nil
	}
	if len(args) > 0 || c.target.To != "" || c.target.Alter != "" || c.target.Table != "" {
		return nil, errors.New("--file excludes statements, --to, --table and --alter")
	}
	text, err := os.ReadFile(c.file)
	if err != nil {
		return nil, err
	}
	all := session.Statements([]string{string(text)})
	if len(all) == 0 {
		err = fmt.Errorf("--file %s: no statement in this file", c.file)
	}
	return all, err
}

// conduct does what a verb does about several statements, one after the other, and ends at the first that fails.
func (c ordered) conduct(ctx context.Context, statements []string, do func(*change) doing) error {
	states, problems := c.read(statements)
	if err := exit.UsageOf(c.help, problems...); err != nil {
		return err
	}
	end := session.EndOf(c.target.Verb, c.rehearsal.purpose().Rehearses())
	for i, text := range statements {
		one := *c.change
		one.tables = slices.Concat(states[:i], states[i+1:])
		c.output.text("Statement %d of %d: %s\n", i+1, len(statements), strings.Join(strings.Fields(text), " "))
		err := (&one).conduct(ctx, []string{text}, do(&one))
		c.connection = one.connection // with the password that was asked for
		if states[i].State = end; err != nil {
			states[i].State = session.StateFailed
			c.output.text("%s", escape.Ours(summary.OfStatements(states, statements)))
			return err
		}
	}
	c.output.text("%s", escape.Ours(summary.OfStatements(states, statements)))
	return nil
}

// read reads several statements. It returns the first table of each, and all that is wrong.
func (c ordered) read(statements []string) (states []record.Table, problems []error) {
	for i, text := range statements {
		target := session.Target{Verb: c.target.Verb, Database: c.target.Database}
		place := fmt.Sprintf("statement %d", i+1)
		statement, err := target.Parse([]string{text})
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", place, err))
			continue
		}
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
	return states, problems
}
