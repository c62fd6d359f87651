package cli

import (
	"context"
	"net/http"

	"midstream/internal/face/tui"
	"midstream/internal/ops/socket"
)

// takeKeys has a display on a terminal take commands by keys, and do them. leave ends the looking,
// where that is not the run's own.
func (a *app) takeKeys(d display, do func(ctx context.Context, command string) error, leave func()) {
	if s, is := d.(*tui.Screen); is {
		s.Obey(a.Stdin, tui.Commands{Do: do, Leave: leave})
	}
}

// commands are those that need no more than their names, for a run to obey.
func commands(run *socket.Client) func(ctx context.Context, command string) error {
	return func(ctx context.Context, command string) error {
		return run.Call(ctx, http.MethodPost, command, struct{}{}, &socket.Answer{})
	}
}

// takeKeys does so for the run's own display.
func (r *controlled) takeKeys(d display) {
	if r != nil && r.server != nil {
		r.app.takeKeys(d, commands(r.server.Client()), nil)
	}
}
