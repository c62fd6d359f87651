package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"golang.org/x/term"

	"midstream/internal/cli/exit"
	"midstream/internal/face/summary"
	"midstream/internal/face/tui"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/session"
	"midstream/internal/ops/socket"
)

// following waits for the end of a change. On a terminal it takes keys.
type following struct {
	*asking
	mu     sync.Mutex // guards the output and the rest
	change queue.Change
	asks   bool // Ctrl-C has asked what it means
	doing  bool // a command is under way
}

// follow prints how a change continues until it has ended.
func (q *asking) follow(ctx context.Context, c queue.Change) error {
	f := &following{asking: q, change: c}
	end := f.takeKeys(ctx)
	c, err := q.client.Follow(ctx, c, f.goesOn)
	end()
	if err == nil && !q.json && c.State != queue.StateDone {
		fmt.Fprint(q.app.Stdout, summary.UnfitOf(c))
	}
	return exit.Followed(ctx, c, err, q.service.At)
}

// goesOn takes and prints a new state of the change.
func (f *following) goesOn(c queue.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.change = c
	f.tell(c)
}

// note prints a line in answer to a key.
func (f *following) note(title, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintf(f.app.Stdout, "  %-9s %s\n", title, text)
}

// takeKeys takes keys until end is called, if this is a terminal. The signals of Ctrl-C then ask what they mean: the run is the service's.
func (f *following) takeKeys(ctx context.Context) (end func()) {
	in, out := f.app.Stdin, f.app.Env.Stdout
	if f.json || f.change.State.Over() || in == nil || out == nil || !term.IsTerminal(int(out.Fd())) {
		return func() {}
	}
	commands, cancel := context.WithCancel(ctx)
	release := tui.Keys(in, func(key byte) { f.press(commands, key) })
	if release == nil {
		cancel()
		return func() {}
	}
	f.note("keys", "p: pause or resume   Ctrl-C: leave it to the service, or cancel it")
	undo := f.app.Interrupts.Ask(f.ask)
	return func() {
		undo()
		cancel()
		release()
	}
}

// ask asks what Ctrl-C means. It returns false if it has asked that already: then the waiting ends.
func (f *following) ask() bool {
	f.mu.Lock()
	already := f.asks
	f.asks = true
	f.mu.Unlock()
	if already {
		return false
	}
	f.note("stop", "l: leave it to the service   c: cancel it   any other key: wait on")
	return true
}

// press does what a key means. Commands run one at a time.
func (f *following) press(ctx context.Context, key byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked, do := f.asks, (func(context.Context) (string, error))(nil)
	f.asks = false
	switch {
	case asked && key == 'l':
		f.app.Interrupts.Stop(&session.Signal{Name: "Ctrl-C"})
		return
	case asked && key == 'c':
		do = f.cancel
	case asked:
		fmt.Fprintf(f.app.Stdout, "  %-9s %s\n", "stop", "waiting on")
		return
	case key == 'p':
		do = f.pause
	}
	if do == nil || f.doing {
		return
	}
	f.doing = true
	go func() {
		text, err := do(ctx)
		f.mu.Lock()
		f.doing = false
		f.mu.Unlock()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			f.note("error", err.Error())
		default:
			f.note("answer", text)
		}
	}()
}

// pause pauses the run of the change, or resumes it if it is paused.
func (f *following) pause(ctx context.Context) (string, error) {
	if before, is := f.unbegun(); is {
		return "", fmt.Errorf("change %s has no run yet that could pause: it is %s", before.ID, before.State)
	}
	var status struct {
		State string `json:"state"`
	}
	path := "changes/" + url.PathEscape(f.change.ID) + "/status"
	if err := f.client.Call(ctx, http.MethodGet, path, nil, &status); err != nil {
		return "", err
	}
	command, body := "pause", any(socket.PauseCommand{})
	if status.State == "paused" || status.State == "stopped" {
		command, body = "resume", struct{}{}
	}
	answer, err := f.client.Tell(ctx, f.change.ID, command, body)
	return answer.Text, err
}

// cancel takes the change out of the queue, or has its run end and remove its work.
func (f *following) cancel(ctx context.Context) (string, error) {
	if before, is := f.unbegun(); is {
		if c, err := f.client.Withdraw(ctx, before.ID, ""); err == nil {
			return "change " + c.ID + " is " + string(c.State), nil
		} // else it has begun since
	}
	answer, err := f.client.Tell(ctx, f.change.ID, "abort", socket.AbortCommand{})
	return answer.Text, err
}

// unbegun returns the change, and whether it has no run yet.
func (f *following) unbegun() (c queue.Change, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.change, f.change.State == queue.StateWaiting || f.change.State == queue.StateProposed
}
