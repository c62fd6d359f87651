package cli

import (
	"context"
	"net/http"

	"midstream/internal/control"
	"midstream/internal/screen"
)

// takeKeys has a display on a terminal take the commands of a run by keys. leave ends the looking, where that is not the run's own.
func (a *app) takeKeys(d display, run *control.Client, leave func()) {
	s, is := d.(*screen.Screen)
	if !is {
		return
	}
	s.Obey(a.Stdin, screen.Commands{Leave: leave, Do: func(ctx context.Context, command string) error {
		return run.Call(ctx, http.MethodPost, command, struct{}{}, &control.Answer{})
	}})
}

// takeKeys does so for the run's own display.
func (r *controlled) takeKeys(d display) {
	if r != nil && r.server != nil {
		r.app.takeKeys(d, r.server.Client(), nil)
	}
}
