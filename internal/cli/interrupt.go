package cli

import (
	"context"
	"fmt"

	"midstream/internal/cli/exit"
	"midstream/internal/face/tui"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/session"
)

// Interrupts are the signals and commands that end a verb.
type Interrupts = session.Interrupts

// WatchInterrupts returns the context that the first signal ends. The second one ends the process by leave.
func WatchInterrupts(parent context.Context, leave func(code int)) (context.Context, *Interrupts) {
	return session.WatchInterrupts(parent, func() { leave(exit.AtOnce) })
}

// errInterrupted is the cause of the context once the operator wants to stop.
var errInterrupted = session.ErrInterrupted

// onSignal is what a signal does to the work of a run; "" keeps it.
type onSignal string

const (
	signalKeeps   onSignal = "keep"
	signalRemoves onSignal = "remove"
)

// keepsOnSignal reports whether a signal keeps the work. An undo that follows the table has none: it stays open as it is.
func keepsOnSignal(c *change) bool {
	return c.onSignal != signalRemoves && !(c.undo != nil && c.settings.When.Hold)
}

// errRemove is the end of a run whose operator has answered that its work is to be removed.
var errRemove = fmt.Errorf("%w, work to be removed", &session.Aborted{By: "Ctrl-C"})

// askFirst has Ctrl-C ask on a terminal that takes keys, in place of an end: keep the work, remove it, or continue.
func askFirst(c *change, d display) (undo func()) {
	screen, is := d.(*tui.Screen)
	if !is || !keepsOnSignal(c) {
		return func() {}
	}
	return c.app.Interrupts.Ask(func() bool {
		return screen.AskStop(map[byte]func(){
			'k': func() { c.app.Interrupts.Stop(&session.Signal{Name: "Ctrl-C"}) },
			'r': func() { c.app.Interrupts.Stop(errRemove) },
		})
	})
}

// awaitOther waits for other runs on the tables, as long as --wait-for-other allows.
func awaitOther(ctx context.Context, c *change, s *server, tables ...schema.Name) error {
	if err := session.AwaitOther(ctx, s, c.waitOther, c.output.note, tables...); err != nil {
		return exit.Unwritten(ctx, err, "")
	}
	return nil
}
