package cli

import (
	"fmt"
	"io"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
)

// lineEvery is the time between two lines of progress.
const lineEvery = 5 * time.Second

// lines is the display where there is no terminal: a line now and then, and one for
// everything that happens.
type lines struct {
	out   io.Writer
	quiet bool // only what may need somebody
	last  time.Time
}

func (l *lines) Show(e event.Event) {
	switch e := e.(type) {
	case event.Progress:
		if l.quiet || e.At.Sub(l.last) < lineEvery || e.Phase == event.PhaseDone {
			return
		}
		l.last = e.At
		l.print(e.At, humanize.Progress(e))
	case event.PhaseEntered:
		if l.last.IsZero() {
			l.last = e.At // nothing to tell of yet
		}
		if !l.quiet {
			l.print(e.At, humanize.Phase(e.Phase))
		}
	default:
		if at, text, matters := humanize.Happening(e); text != "" && (matters || !l.quiet) {
			l.print(at, text)
		}
	}
}

func (l *lines) print(at time.Time, text string) {
	fmt.Fprintf(l.out, "%s  %s\n", at.Local().Format("15:04:05"), text)
}

func (l *lines) Close()   {}
func (l *lines) Abandon() {}
