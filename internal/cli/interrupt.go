package cli

import (
	"context"
	"errors"

	"midstream/internal/cli/exit"
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

// interruptedBy says that err is only the end of ctx, because the operator wants to stop.
func interruptedBy(ctx context.Context, err error) bool {
	return errors.Is(context.Cause(ctx), errInterrupted) && (errors.Is(err, context.Canceled) || errors.Is(err, errInterrupted))
}
