package hook

import (
	"context"
	"fmt"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/ops/record"
)

// queueLength is how many documents wait for the hooks that the run does not wait for.
const queueLength = 32

// Hooks are those of one run. It is safe for concurrent use.
type Hooks struct {
	list    []Hook
	timeout time.Duration
	run     record.Run
	end     func(why string)
	note    func(text string)
	ctx     context.Context // of the run
	calling context.Context // of the hooks that it does not wait for
	stop    context.CancelFunc
	queue   chan Document
	done    chan struct{}

	mu      sync.Mutex
	tracker tracker
	dropped int // since it was told
	ended   bool
}

// Begin returns the hooks of a run that begins and has ctx. end ends it, says why, and does not
// wait for that; note tells what somebody should know, and comes from other goroutines. REQUIRES:
// End is called.
func Begin(ctx context.Context, list []Hook, timeout time.Duration, run record.Run, end, note func(text string)) *Hooks {
	h := &Hooks{
		list:    list,
		timeout: timeout,
		run:     run,
		end:     end,
		note:    note,
		ctx:     ctx,
		queue:   make(chan Document, queueLength),
		done:    make(chan struct{}),
	}
	h.calling, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(h.done)
		for d := range h.queue {
			for _, hook := range h.of(d.Moment) {
				if err := hook.call(h.calling, d, h.timeout); err != nil {
					h.note("hook " + err.Error())
				}
			}
		}
	}()
	return h
}

// of are the hooks of a moment.
func (h *Hooks) of(m Moment) (list []Hook) {
	for _, hook := range h.list {
		if hook.Moment == m {
			list = append(list, hook)
		}
	}
	return list
}

// Listen is an event.Listener. It returns when the before- hooks of the event have been called; if
// one has failed, when the run's context has ended.
func (h *Hooks) Listen(e event.Event) {
	h.mu.Lock()
	moments := h.tracker.moments(e, h.run.Rehearsal != "")
	phase := string(h.tracker.phase)
	h.mu.Unlock()
	for _, m := range moments {
		if len(h.of(m)) == 0 {
			continue
		}
		d := Document{Moment: m, At: record.HeadOf("", time.Now()).At, Run: h.run, Phase: phase, Record: record.Of(e)}
		if m.veto() {
			h.ask(d)
		} else {
			h.add(d)
		}
	}
}

// ask calls the hooks of a moment that may end the run.
func (h *Hooks) ask(d Document) {
	for _, hook := range h.of(d.Moment) {
		err := hook.call(h.ctx, d, h.timeout)
		if h.ctx.Err() != nil {
			return // the run ends without it
		}
		if err != nil {
			h.end("the hook " + err.Error())
			<-h.ctx.Done() // nothing is to happen in between
			return
		}
	}
}

// add queues a document, if there is room for it.
func (h *Hooks) add(d Document) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	select {
	case h.queue <- d:
	default:
		h.dropped++
	}
}

// End calls the hooks of the end, and returns when all have been called, or have had twice their time.
func (h *Hooks) End(result record.Result, report string) {
	at := OnFailure
	if result.ExitCode == 0 {
		at = OnSuccess
	}
	patience, cancel := context.WithTimeout(context.Background(), 2*h.timeout)
	defer cancel()
	defer h.stop()
	h.mu.Lock()
	h.ended = true
	phase, dropped := string(h.tracker.phase), h.dropped
	h.mu.Unlock()
	if dropped > 0 {
		h.note(fmt.Sprintf("hooks were not called %d times, because earlier hooks took too long", dropped))
	}
	for _, m := range []Moment{at, OnEnd} {
		if len(h.of(m)) == 0 {
			continue
		}
		select {
		case h.queue <- Document{Moment: m, At: record.HeadOf("", time.Now()).At, Run: h.run, Phase: phase, Record: result, Outcome: result.Outcome, Report: report}:
		case <-patience.Done():
		}
	}
	close(h.queue)
	select {
	case <-h.done:
	case <-patience.Done():
		h.stop()
		<-h.done // each call ends at once
		h.note(fmt.Sprintf("hooks were killed, because they took longer than %s at the end of the run", 2*h.timeout))
	}
}
