package cli

import (
	"context"
	"errors"
	"fmt"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
	"midstream/internal/ops/socket"
)

// follows reports whether this process follows the table after its change, for a warm undo. Under midstream serve another
// one does.
func (c *change) follows(result migration.Result, err error) bool {
	leaves := result.Undo != nil && result.Undo.Record.Native == nil && result.Undo.Record.Ledger == nil
	return err == nil && c.undo == nil && c.config.Warm && leaves && c.resultFile == ""
}

// followOn begins an undo that is held, and follows the table until it is released, or its operator or its time ends it.
func (c *change) followOn(ctx context.Context, undo *leftovers.Undoable) error {
	c.undo, c.target = &planning.Undo{Lazy: true}, session.Target{Verb: "undo", Undo: true}
	c.options, c.wishes = plan.Options{Limits: c.options.Limits, Again: session.AgainAfter(c.checks.Flags)}, session.Wishes{}
	c.settings.When = operator.When{Hold: true, Gone: c.settings.When.Gone}
	c.config.Undo, c.config.Warm, c.config.DropOld, c.risks = 0, false, false, nil
	c.output.note(summary.Follows(undo))
	err := c.conduct(ctx, []string{undo.Table.Dotted()}, doing{c.migrate, c.runTables})
	if session.FollowEnded(ctx, err) {
		c.output.note(summary.FollowsNoLonger(undo.Table, c.compared))
		return nil
	}
	return err
}

// release has the follower of a table take the change back, if one is on this machine.
func (c *change) release(ctx context.Context, table schema.Name, address string) (result migration.Result, err error) {
	folder := c.socket.in(c.app)
	if c.undo == nil || c.settings.When.Hold || folder.Path == "" {
		return result, nil
	}
	run, err := followers.Find(ctx, folder.Path, address, table.Dotted())
	if run == nil || errors.Is(err, socket.ErrFolder) {
		return result, nil
	}
	c.app.Stands("undo", table.String()+" on "+address)
	if next, why := session.CannotRelease(*c.undo, table); err == nil && why != nil {
		return result, &exit.Error{Code: exit.NotNow, Err: why, Left: "nothing was changed", Next: next}
	}
	if err != nil {
		return result, exit.Answered(err)
	}
	if c.planOnly {
		c.follower, err = followers.Ask(ctx, folder.Path, address, table.Dotted())
		c.options.Followed = c.follower != nil
		return result, err
	}
	return c.underControl(ctx, table, "", &server{Address: address}, func() (result migration.Result, err error) {
		c.showing(table.String(), summary.OfRelease(table), func(show event.Listener) {
			c.released, err = followers.Release(ctx, run, c.undo.Park, c.run.Heard(show))
		})
		if err = unreleased(table, c.released, err); err == nil && !c.output.json { // with --quiet too: it is the result
			fmt.Fprintln(c.app.Stdout, summary.Released(table, *c.released))
		}
		return result, err
	})
}

// unreleased is why a follower has not taken the change back; nil if it has.
func unreleased(table schema.Name, released *record.Result, err error) error {
	switch {
	case errors.Is(err, followers.ErrUnfit), errors.Is(err, followers.ErrHeld):
		return &exit.Error{Code: exit.Unfit, Err: err, Left: fmt.Sprintf("%s is unchanged, and the undo follows on", table), Next: followers.Advice(err, table)}
	case err != nil:
		return exit.Answered(err)
	case released.ExitCode != exit.Done:
		return &exit.Error{Code: released.ExitCode, Err: errors.New(released.Error), Left: released.Left, Next: released.Next}
	}
	return nil
}
