package dbconn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// ErrPassword means that the command of --password-command has printed no password.
var ErrPassword = errors.New("password-command")

// passwordTime bounds the command.
const passwordTime = 30 * time.Second

// passwordOf returns what asks a command for the password. The shell runs it; without a shell (a container may have none), it is a
// program with arguments between blanks. Its last line break is no part of the password. What it writes to standard error is in the
// error if it fails.
func passwordOf(command string) func(context.Context) (Secret, error) {
	return func(ctx context.Context) (Secret, error) {
		ctx, cancel := context.WithTimeout(ctx, passwordTime)
		defer cancel()
		words := []string{"sh", "-c", command}
		if _, err := exec.LookPath(words[0]); err != nil {
			words = strings.Fields(command)
		}
		if len(words) == 0 {
			return "", fmt.Errorf("%w: it is empty", ErrPassword)
		}
		var out, complaint bytes.Buffer
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &complaint, time.Second
		if err := cmd.Run(); err != nil {
			err = fmt.Errorf("%w: %w", ErrPassword, err)
			if said, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n"); said != "" {
				err = fmt.Errorf("%w: %s", err, said)
			}
			return "", err
		}
		return Secret(strings.TrimRight(out.String(), "\r\n")), nil
	}
}
