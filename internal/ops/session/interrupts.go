package session

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Echo is how long after the first signal others are taken for the same one: timeout(1) sends its signal
// to the program and then to its group, and a terminal that goes away sends several.
const Echo = 500 * time.Millisecond

// Interrupts turns the first SIGINT, SIGTERM or SIGHUP into the end of a context, and
// the second into the end of the process, at once, if it is no echo. It is safe for concurrent use.
type Interrupts struct {
	cancel context.CancelCauseFunc
	exit   func()

	mu    sync.Mutex
	first []*func()
	last  []*func()
}

// WatchInterrupts returns the context that the first signal ends. exit ends the process.
func WatchInterrupts(parent context.Context, exit func()) (context.Context, *Interrupts) {
	ctx, cancel := context.WithCancelCause(parent)
	i := &Interrupts{cancel: cancel, exit: exit}
	signals := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // nohup, and shells for what they run in the background, mean it
			signal.Notify(signals, s)
		}
	}
	signal.Ignore(syscall.SIGPIPE) // a reader that goes away must not end a migration half-way
	go func() {
		<-signals
		first := time.Now()
		i.abort()
		for range signals {
			if time.Since(first) >= Echo {
				i.leave()
			}
		}
	}()
	return ctx, i
}

// abort is the first signal.
func (i *Interrupts) abort() {
	i.cancel(ErrInterrupted)
	i.call(&i.first)
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
	functions := append([]*func(){}, *list...)
	i.mu.Unlock()
	for n := len(functions) - 1; n >= 0; n-- {
		(*functions[n])()
	}
}

// OnFirst has do called when the first signal came, until undo is called.
func (i *Interrupts) OnFirst(do func()) (undo func()) { return i.register(&i.first, do) }

// OnSecond has do called before the process ends at the second signal, until undo is
// called. It must be quick.
func (i *Interrupts) OnSecond(do func()) (undo func()) { return i.register(&i.last, do) }

func (i *Interrupts) register(list *[]*func(), do func()) (undo func()) {
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
