package cli

import (
	"context"

	"midstream/internal/face/tui"
)

// takeKeys has a display on a terminal take commands by keys, and do them. leave ends the looking,
// where that is not the run's own.
func (a *app) takeKeys(d display, do func(ctx context.Context, command string) error, leave func()) {
	if s, is := d.(*tui.Screen); is {
		s.Obey(a.Stdin, tui.Commands{Do: do, Leave: leave})
	}
}
