package tui

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
)

// Screen is the display on a terminal: a few lines that are redrawn in place. Events scroll away
// above them, so that they stay visible if the connection to the terminal breaks. The process handles Ctrl-C.
type Screen struct {
	program *tea.Program
	out     io.Writer
	done    chan struct{}
	quiet   bool
	oneStep bool
	release func()      // gives the keyboard back
	obeys   bool        // it hears keys
	asking  atomic.Bool // what Ctrl-C means
	waiting waiting
}

// New begins to draw. table names the run; quiet leaves out what needs no operator; oneStep omits the numbers of the steps.
func New(out *os.File, table string, quiet, colors, oneStep bool) *Screen {
	options := []tea.ProgramOption{
		tea.WithOutput(out), tea.WithInput(nil), tea.WithoutSignalHandler(), tea.WithFPS(20),
	}
	if !colors {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	m := newModel(escape.Line(table))
	m.oneStep = oneStep
	b := &Screen{
		program: tea.NewProgram(m, options...),
		out:     out,
		done:    make(chan struct{}),
		quiet:   quiet,
		oneStep: oneStep,
		release: func() {},
	}
	go func() {
		defer close(b.done)
		// A lost terminal ends the drawing, not the migration.
		_, _ = b.program.Run()
	}()
	return b
}

// Show shows an event. It is called by one goroutine.
func (b *Screen) Show(e event.Event) {
	switch e := e.(type) {
	case event.Progress, event.PhaseEntered:
		b.program.Send(e)
	case event.Blocked:
		b.program.Send(e)
		b.print(e.At, b.waiting.blocked(e))
	default:
		switch other := e.(type) {
		case event.LockAttempt:
			if b.program.Send(e); !other.Granted {
				return // a note has the reason
			}
		case event.Throttled:
			b.program.Send(e)
		case event.SwapDone: // only --verbose shows the position, and then there is no screen
			other.Position = ""
			e = other
		}
		if at, text, matters := humanize.Happening(e); !b.waiting.known(e) && text != "" && (matters || !b.quiet) && b.waiting.news(e) {
			b.print(at, text)
		}
	}
}

func (b *Screen) print(at time.Time, text string) {
	b.program.Send(scrolled(lineOf(at, text, b.oneStep)))
}

// Close returns when all is printed.
func (b *Screen) Close() {
	b.release()
	b.program.Send(finished{}) // it quits when all is printed
	<-b.done
}

// Abandon shows the cursor again, in case the program has no time to.
func (b *Screen) Abandon() {
	b.release()
	b.program.Kill()
	fmt.Fprint(b.out, ansi.ShowCursor+"\r\n")
}
