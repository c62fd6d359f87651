package cli

import (
	"context"
	"errors"
	"fmt"

	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/ops/session"
)

// notTogether are flags that are for one table, or for another kind of change.
var notTogether = []string{"to", "table", "alter", "listen", "method"}

// grouped is a change of several tables that are swapped in one step.
type grouped struct{ *change }

// conduct does what a verb does about the statements.
func (c grouped) conduct(ctx context.Context, args []string, do func(*change) doing) error {
	result, err := c.prepare(ctx, args, do)
	conclude(ctx, c.change, result, err)
	return err
}

// prepare reads the command line, makes a change of each statement, and has them done.
func (c grouped) prepare(ctx context.Context, args []string, do func(*change) doing) (migration.Result, error) {
	cfg, notes, configErr := c.connection.config() // first: option files may say what the other flags didn't
	all, problems := session.ReadTogether(c.target.Verb, c.target.Database, args, c.wishes)
	problems = append(append(problems, c.checks.problems...), configErr, c.output.check())
	for _, name := range notTogether {
		if f := c.checks.flags.Lookup(name); f != nil && f.Changed {
			problems = append(problems, fmt.Errorf("--together and --%s exclude each other", name))
		}
	}
	if c.config.Undo > 0 || c.rehearsal.purpose().Rehearses() {
		problems = append(problems, errors.New("--together excludes --undo and --rehearse"))
	}
	if err := usageOf(c.help, problems...); err != nil {
		return migration.Result{}, err
	}
	for _, note := range notes {
		c.output.note(note)
	}
	server, err := c.connection.open(ctx, cfg) // it may ask for the password, once
	if err != nil {
		return migration.Result{}, err
	}
	defer server.Close()
	all.End, all.Note = doneStates[c.target.Verb], c.output.note
	result, err := all.Run(ctx, func(ctx context.Context, i int) (migration.Result, error) {
		member := *c.change
		member.target = session.Target{Verb: c.target.Verb, Database: c.target.Database}
		member.wishes, member.with = all.Wishes[i], all.Others(i)
		member.output.table, member.resultFile, member.options.Method = all.Tables[i].Table, "", plan.MethodShadow
		if all.End == session.StateChanged {
			member.config.Together = all.Member(i)
		}
		return member.prepare(ctx, all.Statements[i:i+1], do(&member))
	})
	c.tables = all.Tables
	return result, err
}
