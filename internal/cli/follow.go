package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/face/humanize"
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
func (c *change) followOn(ctx context.Context, table schema.Name) error {
	c.undo, c.target = &planning.Undo{Lazy: true}, session.Target{Verb: "undo", Undo: true}
	c.options, c.settings.When = plan.Options{Limits: c.options.Limits}, operator.When{Hold: true}
	c.config.Undo, c.config.Warm, c.config.DropOld, c.risks = 0, false, false, nil
	c.output.note(fmt.Sprintf("following %s for an undo, which midstream undo %s releases", table, table.Argument()))
	err := c.conduct(ctx, []string{table.Dotted()}, doing{c.migrate, c.runTables})
	if session.FollowEnded(ctx, err) {
		c.output.note(fmt.Sprintf("%s is followed no longer (%s); its undo can still be made: midstream undo %s", table,
			humanize.Compared(c.compared, time.Now()), table.Argument()))
		return nil
	}
	return err
}

// release has the follower of a table take the change back, if one is on this machine.
func (c *change) release(ctx context.Context, table schema.Name, address string) (released *record.Result, err error) {
	folder := c.socket.in(c.app)
	if c.undo == nil || c.settings.When.Hold || folder.Path == "" {
		return nil, nil
	}
	run, err := followers.Find(ctx, folder.Path, address, table.Dotted())
	if run == nil || errors.Is(err, socket.ErrFolder) {
		return nil, nil
	}
	if why, next := session.CannotRelease(*c.undo, table); err == nil && why != nil {
		return nil, &coded{code: exitNotNow, err: why, left: "nothing was changed", next: next}
	}
	if err == nil {
		c.app.stands("undo", table.String()+" on "+address)
		c.showing(table.String(), summary.OfRelease(table), func(show event.Listener) {
			released, err = followers.Release(ctx, run, c.undo.Park, show)
		})
	}
	switch {
	case errors.Is(err, followers.ErrUnfit), errors.Is(err, followers.ErrHeld):
		return nil, &coded{code: exitUnfit, err: err, left: fmt.Sprintf("%s is unchanged, and the undo follows on", table), next: followers.Advice(err)}
	case err != nil:
		return nil, commandError(err)
	case released.ExitCode != exitDone:
		return released, &coded{code: released.ExitCode, err: errors.New(released.Error), left: released.Left, next: released.Next}
	}
	if !c.output.json { // with --quiet too: it is the result
		fmt.Fprintln(c.app.Stdout, summary.Released(table, *released))
	}
	return released, nil
}
