package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/soak"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// soaking is a drop in two acts (docs/soak.md).
type soaking struct {
	length, most time.Duration
	planned      *record.SoakPlan // nil for other changes
}

func (k *soaking) register(f *flags.Set) {
	f.Duration(&k.length, "soak", 0, 0, 10_000*time.Hour,
		"for DROP COLUMN and DROP INDEX: hide the column or index first, watch the application's statements for this long, and drop it if none has named it (docs/soak.md)")
	f.Duration(&k.most, "soak-check", time.Minute, time.Second, time.Hour, "time between two checks of --soak, at most")
}

// check says what --soak does not go with.
func (k *soaking) check(c *change, statement *ddl.Statement) error {
	switch {
	case k.length <= 0:
		return nil
	case c.together, c.rehearsal.purpose().Rehearses(), c.settings.When.Hold, c.options.Into.Given(),
		statement == nil, statement.Kind != ddl.KindAlter:
		return errors.New("--soak is for one ALTER TABLE with DROP COLUMN or DROP INDEX, without --together, --to, --into, --rehearse and --hold")
	}
	return nil
}

// inTwoActs is a change that soaks.
type inTwoActs struct{ *change }

// alone is the change without --soak.
func (c inTwoActs) alone() *change {
	one := *c.change
	one.soak.length = 0
	return &one
}

// hiding is the change that makes the first act.
func (c inTwoActs) hiding(record *checkpoint.Soak) *change {
	first := c.alone()
	first.config.Undo, first.config.Warm, first.config.Soak = c.soak.length, false, record
	first.options.UndoWish, first.options.Method, first.options.Map = plan.UndoRequire, "", nil
	return first
}

// hides refuses a first act that does more than hide, and keeps it from that.
func (c inTwoActs) hides(p *plan.Plan) error {
	if c.config.Soak == nil {
		return nil
	}
	if method := p.Choice.Method; method != plan.MethodShadow && method != plan.MethodCopy && !p.Choice.Builds {
		p.Choice.Shadow = false // no copy takes over
		return nil
	}
	return &plan.Refused{Table: p.Source.Name.String(), Blocking: []plan.Risk{{
		Code: soak.Code, What: "the server cannot hide it without a copy of the table", Why: p.Choice.Why, Fix: "leave out --soak", Blocking: true,
	}}}
}

// soaked makes both acts, from where the server has them.
func (c inTwoActs) soaked(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
	drop, err := soak.Of(alter)
	if err != nil {
		return migration.Result{}, err
	}
	work := session.Soaking{Drop: drop, For: c.soak.length, Check: c.soak.most, Turn: c.resultFile != ""}
	work.First = func(ctx context.Context, clauses string, record *checkpoint.Soak, again bool) error {
		hide, err := ddl.ParseClauses(alter.Table, clauses)
		if err != nil {
			return err
		}
		first := c.hiding(record)
		if first.soak.planned, err = c.foresee(ctx, alter, s, drop, clauses); err != nil {
			return err
		}
		first.endUndo = c.endUndo || again
		c.output.text("%s", escape.Ours(summary.OfSoak(first.soak.planned, c.output.style())))
		_, _, err = first.carryOut(ctx, hide, s, (*migration.Migration).Run)
		return err
	}
	work.Settle = func(ctx context.Context, clauses string) error {
		hide, err := ddl.ParseClauses(alter.Table, clauses)
		if err == nil {
			_, _, _, err = session.Finish(ctx, s, hide, leftovers.Ending{Lock: c.settings.Lock}, c.config.Together, c.output.note)
		}
		return exit.Unheld(ctx, err)
	}
	work.Second = func(ctx context.Context, ends bool) (migration.Result, error) {
		second := c.alone()
		second.endUndo = c.endUndo || ends
		return second.attempt(ctx, alter, s)
	}
	work.Gone = func(ctx context.Context) (migration.Result, error) {
		if result, done, err := c.finish(ctx, alter, s); done || err != nil {
			return result, err
		}
		if _, err := leftovers.EndUndo(ctx, s.Pool, alter.Table, false); err != nil {
			return migration.Result{}, exit.Unwritten(ctx, err, "run the same command again")
		}
		result, told := migration.Result{Swapped: true, Resumed: true}, fmt.Sprintf("Done: %s of %s is dropped.", drop.What(), alter.Table)
		c.output.done(alter.Table, result, told, told+"\n")
		return result, nil
	}
	result, err := c.run.Soak(ctx, s, work)
	return result, exit.Unheld(ctx, err)
}

// foresee makes the plan of the second act, and what the plan has of both.
func (c inTwoActs) foresee(ctx context.Context, alter *ddl.Alter, s *server, drop soak.Drop, clauses string) (*record.SoakPlan, error) {
	second := c.alone()
	second.endUndo = true
	p, err := second.make(ctx, alter, s)
	if err != nil {
		return nil, err
	}
	before, err := drop.Before(ctx, s.Pool.DB(), 7)
	if err != nil {
		return nil, exit.Unwritten(ctx, err, "")
	}
	now, err := leftovers.ServerTime(ctx, s.Pool.DB())
	if err != nil {
		return nil, exit.Unwritten(ctx, err, "")
	}
	told := &record.SoakPlan{First: clauses, Second: drop.Clauses, What: drop.What(), Until: now.Add(c.soak.length),
		EveryMS: record.MSOf(soak.Every(c.soak.most, c.soak.length)), Method: string(p.Choice.Method),
		Replicas: len(p.Server.Followers) > 0}
	told.Named = record.Namings(before)
	return told, nil
}

// planned prints both acts, or how far they have come.
func (c inTwoActs) planned(ctx context.Context, alter *ddl.Alter, s *server) error {
	drop, err := soak.Of(alter)
	if err != nil {
		return err
	}
	now, err := soak.Look(ctx, s.Pool, drop)
	var other *soak.ErrOther
	if errors.As(err, &other) {
		return &exit.Error{Code: exit.Refused, Err: err, Left: "nothing was written", Next: other.Next}
	}
	if err != nil {
		return exit.Unwritten(ctx, err, "")
	}
	clauses := ""
	if now.Stage == soak.None {
		if clauses, err = drop.FirstOn(ctx, s.Pool.DB()); err != nil {
			return exit.Unwritten(ctx, err, "")
		}
		hide, err := ddl.ParseClauses(alter.Table, clauses)
		if err != nil {
			return err
		}
		first := c.hiding(&checkpoint.Soak{})
		first.endUndo = c.endUndo || now.Back
		p, err := first.make(ctx, hide, s)
		if err == nil {
			err = inTwoActs{first}.hides(p)
		}
		if err != nil {
			return err
		}
	}
	second := c.alone()
	second.endUndo = true
	if second.soak.planned, err = c.foresee(ctx, alter, s, drop, clauses); err != nil {
		return err
	}
	if now.Stage == soak.Soaking {
		second.soak.planned.Until, second.soak.planned.Since = now.Record.Until, &now.Record.Swapped
	}
	c.output.text("%s", escape.Ours(summary.OfSoak(second.soak.planned, c.output.style())))
	_, err = second.plan(ctx, alter, s)
	return err
}
