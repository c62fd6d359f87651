package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/desired"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// checkSays reads the words of --map of several tables.
func (c *change) checkSays() error {
	if c.target.To == "" || len(c.target.Wanted) == 0 {
		return nil
	}
	var problem error
	c.says, problem = desired.ReadSays(c.target.Wanted, c.options.Map)
	problems := []error{problem}
	switch {
	case c.group != nil:
		problems = append(problems, c.group.Want(c.target.Database, c.target.Wanted, c.wishes))
	case len(c.target.Wanted) > 1:
		problems = append(problems, c.wishes.OfOne()...)
	}
	return errors.Join(problems...)
}

// reach brings the tables of --to to their definitions. do is what the verb does with one ALTER.
func (c *change) reach(
	ctx context.Context,
	s *server,
	do func(context.Context, *ddl.Alter, *server) (migration.Result, error),
) (migration.Result, error) {
	r := session.Reach{
		Server: s, Wanted: c.target.Wanted, LeftOut: c.target.LeftOut, Part: c.target.Table != "", Says: c.says,
		End: session.EndOf(c.target.Verb, c.options.Purpose.Rehearses()), Note: c.output.note,
		Finish: func(ctx context.Context, table schema.Name) error {
			_, _, err := c.finish(ctx, &ddl.Alter{Table: table}, s)
			return err
		},
		Make: func(ctx context.Context, d *desired.Change) error {
			c.take(d)
			_, err := c.make(ctx, d.Alter, s)
			return err
		},
		Do: func(ctx context.Context, d *desired.Change) (migration.Result, error) {
			c.take(d)
			return do(ctx, d.Alter, s)
		},
		Together: c.group, Member: c.member,
		MakeTables: func(ctx context.Context, statement *ddl.Statement) (*plan.TablePlan, error) {
			return c.makeTables(ctx, statement, s, "")
		},
		Create: func(ctx context.Context, d *desired.Change, p *plan.TablePlan) (migration.Result, error) {
			result, err := c.carryOutTables(ctx, p, s)
			if err == nil && !c.output.quiet {
				c.tell("Done: created %s.\n", d.Name())
			}
			return result, err
		},
		Planned: func(d *desired.Change, method, why string) { c.planned(d, s.Address, method, why) },
		Begins:  func(table string) { c.app.Stands("planning", table+" on "+s.Address) },
	}
	result, err := r.Run(ctx)
	c.tables = r.Tables
	if err == nil && (c.output.quiet || len(r.Tables) > 1) {
		if c.output.format == planMarkdown {
			c.tell("\n") // a paragraph of its own
		}
		c.tell("%s\n", summary.OfTables(r.Tables))
	}
	if n := session.Different(r.Tables); err == nil && c.tellsDifference && n > 0 {
		differ := fmt.Errorf("the files of --to differ from the server in %d of %s", n, humanize.Plural(len(r.Tables), "table"))
		err = &exit.Error{Code: exit.Differs, Err: differ, Left: "nothing was changed"}
	}
	return result, exit.Unheld(ctx, err)
}

// take has the plan heed what was found.
func (c *change) take(d *desired.Change) {
	c.group.Wish(d, &c.options)
	c.options.Map, c.risks, c.place, c.mustResume = d.Map, d.Risks, d.Statement.Place(), false
	c.options.Pace = nil // that of another table
}

// planned tells the plan of a table that no ALTER is needed for.
func (c *change) planned(d *desired.Change, server, method, why string) {
	place := d.Statement.Place()
	if c.output.format == planSQL && d.Table == nil {
		fmt.Fprintln(c.app.Stdout, strings.TrimRight(strings.TrimSpace(d.Statement.Text), ";")+";")
	}
	if c.output.json {
		create := ""
		if d.Table == nil {
			create = d.Statement.Text
		}
		c.app.Record(record.Unaltered(d.Name().Dotted(), place, method, why, server, d.Server.String(), create))
		return
	}
	c.output.text("%s", escape.Ours(summary.OfUnaltered(d.Name().String(), server, d.Server, method+": "+why, place, c.output.style())))
}

// tell prints for people, even for those who want quiet.
func (c *change) tell(format string, args ...any) {
	if !c.output.json && c.output.format != planSQL {
		fmt.Fprintf(c.app.Stdout, format, escape.Args(args...)...)
	}
}
