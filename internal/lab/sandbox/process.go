package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// process is a child that dies when this process does.
type process struct {
	pid  int
	os   *os.Process
	done chan struct{} // closed once the child is gone
	end  error         // of the child; may be read once done is closed
}

// startProcess starts the command.
//
// The kernel kills the child when the *thread* that started it ends, and Go ends threads as it likes.
// So one goroutine keeps a thread to itself for as long as the child lives; that thread then ends
// only with this process.
func startProcess(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = childAttributes()
	p := &process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		p.pid, p.os = cmd.Process.Pid, cmd.Process
		started <- nil
		p.end = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// signal sends the signal; a child that is gone is no error.
func (p *process) signal(s os.Signal) { _ = p.os.Signal(s) }

// kill ends the child at once and returns when it is gone.
func (p *process) kill() {
	p.signal(os.Kill)
	<-p.done
}

// gone says whether the child has ended.
func (p *process) gone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// fate says how the child ended, in words.
// REQUIRES: gone.
func (p *process) fate() string {
	if p.end == nil {
		return "exit status 0"
	}
	return p.end.Error()
}

// runToEnd runs a server command that is meant to end by itself, such as an initialisation.
// REQUIRES: cmd was made with ctx, which ends it.
func runToEnd(ctx context.Context, cmd *exec.Cmd, input string) error {
	var output bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &output, &output
	p, err := startProcess(cmd)
	if err != nil {
		return err
	}
	<-p.done
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.end != nil {
		return fmt.Errorf("%w%s", p.end, complaint(output.String()))
	}
	return nil
}
