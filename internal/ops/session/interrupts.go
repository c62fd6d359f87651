package session

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Echo is how long after the first signal others are taken for the same one: timeout(1) sends its signal
// to the program and then to its group, and a terminal that goes away sends several.
const Echo = 500 * time.Millisecond

// Signal is the cause of a context that a signal has ended. It matches ErrInterrupted.
type Signal struct{ Name string }

func (s *Signal) Error() string { return ErrInterrupted.Error() }

// Is matches ErrInterrupted.
func (s *Signal) Is(err error) bool { return err == ErrInterrupted }

// signals are the signals that end a run, with their names.
var signals = map[os.Signal]string{os.Interrupt: "Ctrl-C (SIGINT)", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP"}

// Interrupts turns the first SIGINT, SIGTERM or SIGHUP into the end of a context, and
// the second into the end of the process, at once, if it is no echo. It is safe for concurrent use.
type Interrupts struct {
	cancel context.CancelCauseFunc
	exit   func()

	mu    sync.Mutex
	first []*func()
	last  []*func()
	asks  []*func() bool
	ended bool      // the first signal, or the answer to a question, has ended the context
	heard time.Time // when that was, or when a question was last asked
}

// WatchInterrupts returns the context that the first signal ends. exit ends the process.
func WatchInterrupts(parent context.Context, exit func()) (context.Context, *Interrupts) {
	ctx, cancel := context.WithCancelCause(parent)
	i := &Interrupts{cancel: cancel, exit: exit}
	caught := make(chan os.Signal, 2)
	for s := range signals {
		if !signal.Ignored(s) { // nohup, and shells for what they run in the background, mean it
			signal.Notify(caught, s)
		}
	}
	signal.Ignore(syscall.SIGPIPE) // a reader that goes away must not end a migration half-way
	go func() {
		for s := range caught {
			i.take(s)
		}
	}()
	return ctx, i
}

// take does what a signal means: a question, the end of the context, or the end of the process.
func (i *Interrupts) take(s os.Signal) {
	i.mu.Lock()
	ended, heard, asks := i.ended, i.heard, slices.Clone(i.asks)
	i.mu.Unlock()
	switch {
	case time.Since(heard) < Echo:
	case ended:
		i.leave()
	case s == os.Interrupt && len(asks) > 0 && (*asks[len(asks)-1])():
		i.hear(false)
	default:
		i.Stop(&Signal{Name: signals[s]})
	}
}

// Stop ends the context as the first signal does. The next signal leaves at once.
func (i *Interrupts) Stop(cause error) {
	i.hear(true)
	i.cancel(cause)
	i.call(&i.first)
}

// hear notes a signal, or an answer, that others may echo.
func (i *Interrupts) hear(ends bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ended, i.heard = i.ended || ends, time.Now()
}

// End ends the context by a command of somebody's, whose cause is ErrInterrupted too. A signal that comes
// afterwards is still the first.
func (i *Interrupts) End(cause error) { i.cancel(cause) }

// leave is the second signal. The newest function is called first.
func (i *Interrupts) leave() {
	i.call(&i.last)
	i.exit()
}

func (i *Interrupts) call(list *[]*func()) {
	i.mu.Lock()
	functions := slices.Clone(*list)
	i.mu.Unlock()
	for n := len(functions) - 1; n >= 0; n-- {
		(*functions[n])()
	}
}

// Ask has ask called at the first SIGINT, until undo is called. If it returns true, somebody is asked what the signal means, and
// nothing ends; Stop carries out the answer. If it returns false, the signal ends the context.
func (i *Interrupts) Ask(ask func() bool) (undo func()) { return register(i, &i.asks, ask) }

// OnFirst has do called when the first signal came, until undo is called.
func (i *Interrupts) OnFirst(do func()) (undo func()) { return register(i, &i.first, do) }

// OnSecond has do called before the process ends at the second signal, until undo is
// called. It must be quick.
func (i *Interrupts) OnSecond(do func()) (undo func()) { return register(i, &i.last, do) }

func register[F any](i *Interrupts, list *[]*F, do F) (undo func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	entry := &do
	*list = append(*list, entry)
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		for n, e := range *list {
			if e == entry {
				*list = append((*list)[:n:n], (*list)[n+1:]...)
				return
			}
		}
	}
}
