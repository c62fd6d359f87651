package sim

import (
	"fmt"
	"iter"
	"runtime/debug"
)

// process is something that goes on beside others: a worker, the server's engine, the
// application. It is a coroutine: it runs until it pauses, and the scheduler alone
// decides who runs next, so that a seed always gives the same run.
type process struct {
	name   string
	weight int
	ready  func() bool // nil: it can go on
	until  int         // step before which it sleeps
	ended  bool

	resume func() (struct{}, bool)
	cancel func()
	yield  func(struct{}) bool
}

// stopped unwinds a process that is stopped while it pauses.
type stopped struct{}

func newProcess(name string, body func(p *process)) *process {
	p := &process{name: name, weight: 1}
	p.resume, p.cancel = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			p.ended = true
			switch r := recover().(type) {
			case nil, stopped:
			case *Violation:
				panic(r)
			default:
				panic(&Violation{Law: "no panic", What: fmt.Sprintf("%v\n%s", r, debug.Stack())})
			}
		}()
		p.yield = yield
		body(p)
	})
	return p
}

// stop ends the process where it stands.
func (p *process) stop() {
	p.cancel()
	p.ended = true
}

// pause lets others run.
func (p *process) pause() {
	if !p.yield(struct{}{}) {
		panic(stopped{})
	}
}

// wait lets others run until ready says that the process can go on.
func (p *process) wait(ready func() bool) {
	p.ready = ready
	p.pause()
	p.ready = nil
}

func (p *process) canRun() bool { return !p.ended && (p.ready == nil || p.ready()) }

// sleep lets others run up to a step; less long if there is nobody who could.
func (p *process) sleep(until int) {
	p.until = until
	p.pause()
	p.until = 0
}
