package cli

import (
	"cmp"
	"context"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/session"
)

// grouped is a change of several tables that are swapped in one step.
type grouped struct{ *change }

// conduct does what a verb does about the statements, or about the files of --to.
func (c grouped) conduct(ctx context.Context, args []string, do func(*change) doing) error {
	result, err := c.prepare(ctx, args, do)
	conclude(ctx, c.change, result, err)
	return err
}

// asked reads the command line, with the statements unless there are files, and returns all that is wrong with it.
func (c grouped) asked(args []string) (cfg dbconn.Config, notes []string, problems []error) {
	cfg, notes, configErr := c.connection.config() // first: option files may say what the other flags didn't
	c.group = &session.Together{}
	if c.target.To == "" {
		c.group, problems = session.ReadTogether(c.target, args, c.wishes)
		problems = append(append(problems, c.checks.Problems...), configErr, c.output.check(), c.rehearsal.check())
	}
	c.options.Purpose = c.rehearsal.purpose()
	c.group.End, c.group.Note = session.EndOf(c.target.Verb, c.rehearsal.purpose().Rehearses()), c.output.note
	return cfg, notes, append(problems, session.NotTogether(c.checks.Flags, c.config.Warm && c.config.Undo > 0)...)
}

// prepare reads the command line, makes a change of each statement, and has them done.
func (c grouped) prepare(ctx context.Context, args []string, do func(*change) doing) (migration.Result, error) {
	cfg, notes, problems := c.asked(args)
	if c.target.To != "" { // what else is wrong is found with these
		c.checks.Problems = append(c.checks.Problems, problems...)
		c.member = func(ctx context.Context, i int) (migration.Result, error) { return c.reachOne(ctx, i, do) }
		return c.change.prepare(ctx, args, do(c.change))
	}
	if err := exit.UsageOf(c.help, problems...); err != nil {
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
	c.app.Stands("planning", server.Address)
	problem, err := c.group.Complete(ctx, server, c.checks.Flags)
	if err = cmp.Or(err, exit.UsageOf(c.help, problem)); err != nil {
		return migration.Result{}, exit.Unheld(ctx, err)
	}
	c.output.text("%s", escape.Ours(summary.OfNeeded(c.group.Needed(), c.output.style())))
	result, err := c.group.Run(ctx, func(ctx context.Context, i int) (migration.Result, error) {
		member := c.one(i)
		member.wishes = c.group.WishesOf(i)
		return member.prepare(ctx, c.group.Statements[i:i+1], do(member))
	})
	c.app.Stands("planning", server.Address) // a refusal is about all tables
	c.tables = c.group.Tables
	return result, err
}

// one is the change of a member.
func (c grouped) one(i int) *change {
	member := *c.change
	member.target, member.group = session.Target{Verb: c.target.Verb, Database: c.group.Database}, c.group
	member.options.Together = c.group.Others(i)
	member.output.table, member.resultFile, member.options.Method = c.group.Tables[i].Table, "", plan.MethodShadow
	if session.Works(c.group.End) {
		member.config.Together = c.group.Member(i)
	}
	return &member
}

// reachOne does what a verb does about one of several changes of --to.
func (c grouped) reachOne(ctx context.Context, i int, do func(*change) doing) (migration.Result, error) {
	server, err := c.connection.open(ctx, *c.connection.known) // a run has its own
	if err != nil {
		return migration.Result{}, err
	}
	defer server.Close()
	member := c.one(i)
	member.take(c.group.Changes[i])
	return do(member).alter(ctx, member.group.Changes[i].Alter, server)
}

// takeBack takes back the changes of several tables in one step.
func (c grouped) takeBack(ctx context.Context, undoing *session.Undoing, s *server) (migration.Result, error) {
	c.group = undoing.Group
	c.group.Note = c.output.note
	if c.planOnly {
		c.group.End = session.StatePlanned
	}
	result, err := c.group.Run(ctx, func(ctx context.Context, i int) (migration.Result, error) {
		server, err := c.connection.open(ctx, *c.connection.known) // a run has its own
		if err != nil {
			return migration.Result{}, err
		}
		defer server.Close()
		member := c.one(i)
		undo, wishes := undoing.At(i)
		member.undo = &undo
		member.options.Key, member.options.Names = "", plan.Wish{} // of the flags with their tables
		wishes.Read(&member.options)
		return c.taking(member).alter(ctx, &ddl.Alter{Table: undoing.Table(i)}, server)
	})
	c.app.Stands("planning", s.Address)
	c.tables = c.group.Tables
	return result, err
}
