package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// toolGrace is how long the helpers of a cancelled program may hold its output open.
const toolGrace = 5 * time.Second

// runTool runs a program of this machine to its end and returns what it printed. The error carries
// the last that it complained of.
func runTool(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	cmd.WaitDelay = toolGrace
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s: %w%s", name, err, complaint(stderr.String()+stdout.String()))
	}
	return stdout.Bytes(), nil
}

// complaint returns the last lines of a program's output, for an error message.
func complaint(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if lines[0] == "" {
		return ""
	}
	return ": " + strings.Join(lines[max(0, len(lines)-5):], "; ")
}
