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
	calls   Calls
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
	// agreed are the hooks of BeforeCutover that have said yes, by the phase that they were asked for.
	agreed map[event.Phase]int
}

// Calls say what is called, and how.
type Calls struct {
	List    []Hook
	Timeout time.Duration // of each; more than 0
	Veto    Veto          // of the hooks of BeforeCutover
}

// Begin returns the hooks of a run that begins and has ctx. end ends it, says why, and does not
// wait for that; note tells what somebody should know, and comes from other goroutines. REQUIRES:
// End is called.
func Begin(ctx context.Context, calls Calls, run record.Run, end, note func(text string)) *Hooks {
	h := &Hooks{
		calls:  calls,
		run:    run,
		end:    end,
		note:   note,
		ctx:    ctx,
		queue:  make(chan Document, queueLength),
		done:   make(chan struct{}),
		agreed: map[event.Phase]int{},
	}
	h.calling, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(h.done)
		for d := range h.queue {
			for _, hook := range h.of(d.Moment) {
				if err := hook.call(h.calling, d, h.calls.Timeout); err != nil {
					h.note("hook " + err.Error())
				}
			}
		}
	}()
	return h
}

// of are the hooks of a moment.
func (h *Hooks) of(m Moment) (list []Hook) {
	for _, hook := range h.calls.List {
		if hook.Moment == m {
			list = append(list, hook)
		}
	}
	return list
}

// Listen is an event.Listener. It returns when the hooks of BeforeCopy have been called, if the copy begins; if one has failed, when
// the run's context has ended.
func (h *Hooks) Listen(e event.Event) {
	h.mu.Lock()
	moments := h.tracker.moments(e)
	phase := string(h.tracker.phase)
	h.mu.Unlock()
	for _, m := range moments {
		if len(h.of(m)) == 0 {
			continue
		}
		d := h.document(m, phase, e)
		if m != BeforeCopy {
			h.add(d)
			continue
		}
		if _, err := h.ask(h.ctx, d, h.of(m)); err != nil {
			h.refuse(err)
		}
	}
}

func (h *Hooks) document(m Moment, phase string, e event.Event) Document {
	return Document{Moment: m, At: record.HeadOf("", time.Now()).At, Run: h.run, Phase: phase, Record: record.Of(e)}
}

// ask calls hooks one after the other, and returns how many have said yes, and what the next one has said. If ctx ends, nobody has
// said no.
func (h *Hooks) ask(ctx context.Context, d Document, hooks []Hook) (agreed int, err error) {
	for i, hook := range hooks {
		err := hook.call(ctx, d, h.calls.Timeout)
		if ctx.Err() != nil {
			return i, nil // the run ends without it
		}
		if err != nil {
			return i, err
		}
	}
	return len(hooks), nil
}

// refuse ends the run because a hook has said no, and returns when its context has ended: nothing is to happen in between.
func (h *Hooks) refuse(no error) {
	h.end("the hook " + no.Error())
	<-h.ctx.Done()
}

// WhyNot asks the hooks of BeforeCutover before a phase (operator.Asked). One that has agreed is not asked again.
func (h *Hooks) WhyNot(ctx context.Context, phase event.Phase) (string, error) {
	hooks := h.of(BeforeCutover)
	h.mu.Lock()
	done := h.agreed[phase]
	h.mu.Unlock()
	if done == len(hooks) {
		return "", nil
	}
	agreed, no := h.ask(ctx, h.document(BeforeCutover, string(phase), event.PhaseEntered{Phase: phase, At: time.Now()}), hooks[done:])
	h.mu.Lock()
	h.agreed[phase] = done + agreed
	h.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case no == nil:
		return "", nil
	case h.calls.Veto == VetoEnds:
		h.refuse(no)
		return "", context.Cause(h.ctx)
	}
	return "the hook " + no.Error() + "; the run asks again every " + AskEvery.String(), nil
}

// Every is the time between two questions.
func (h *Hooks) Every() time.Duration { return AskEvery }

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
	patience, cancel := context.WithTimeout(context.Background(), 2*h.calls.Timeout)
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
		h.note(fmt.Sprintf("hooks were killed, because they took longer than %s at the end of the run", 2*h.calls.Timeout))
	}
}
