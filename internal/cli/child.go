package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/record"
)

// childGrace is how long an aborted child gets to clean up.
const childGrace = 30 * time.Second

// runChild runs this program with arguments that make it tell JSON, hands its events
// on, and returns the result that it told. The end of ctx aborts it as Ctrl-C would.
func (a *app) runChild(ctx context.Context, args []string, listen event.Listener) (*record.Result, error) {
	cmd := exec.CommandContext(ctx, a.Executable, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = childGrace
	cmd.Env = dbconn.WithoutEnv(os.Environ())
	ownGroup(cmd) // the terminal's Ctrl-C is for us
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", a.Executable, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run %s: %w", a.Executable, err)
	}
	defer a.Interrupts.OnSecond(func() { _ = cmd.Process.Kill() })()
	result, readErr := readChild(out, listen)
	err = cmd.Wait()
	switch {
	case result != nil && result.ExitCode != exitDone:
		return result, childError(result)
	case err != nil || readErr != nil || result == nil:
		return nil, fmt.Errorf("run %s %s: %w%s", a.Executable, args[0],
			errors.Join(err, readErr), strings.TrimRight(": "+complaints.String(), "\n: "))
	}
	return result, nil
}

// readChild reads lines to their end.
func readChild(out io.Reader, listen event.Listener) (result *record.Result, err error) {
	lines := bufio.NewReader(out)
	for {
		line, end := lines.ReadBytes('\n')
		if len(line) > 0 && err == nil {
			var e event.Event
			var r *record.Result
			e, r, err = record.Read(line)
			if e != nil {
				listen(e)
			}
			if r != nil {
				result = r
			}
		}
		if end != nil {
			return result, err
		}
	}
}

// childError is a child's failure with its exit code.
func childError(r *record.Result) error {
	text := r.Error
	if r.Phase != "" {
		text = "in phase " + r.Phase + ": " + text
	}
	return &coded{code: r.ExitCode, err: fmt.Errorf("run %s %s", r.Outcome, text), left: r.Left, next: r.Next}
}
