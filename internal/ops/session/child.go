package session

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

// RunChild runs a program of this kind with arguments that make it write JSON, hands its events on, and
// returns its result. The end of ctx aborts it as Ctrl-C would. onSecond has a function called when it
// is to end at once.
func RunChild(
	ctx context.Context,
	program string,
	args []string,
	onSecond func(func()) (undo func()),
	listen event.Listener,
) (*record.Result, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = childGrace
	cmd.Env = dbconn.WithoutEnv(os.Environ())
	ownGroup(cmd) // the terminal's Ctrl-C is for us
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", program, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run %s: %w", program, err)
	}
	defer onSecond(func() { _ = cmd.Process.Kill() })()
	result, readErr := readChild(out, listen)
	err = cmd.Wait()
	switch {
	case result != nil && result.ExitCode != 0:
		return result, nil
	case err != nil || readErr != nil || result == nil:
		return nil, fmt.Errorf("run %s %s: %w%s", program, args[0],
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
