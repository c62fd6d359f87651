//go:build unix

package history

import (
	"errors"
	"syscall"
)

// Gone reports that this machine has no such process.
func Gone(process int) bool { return errors.Is(syscall.Kill(process, 0), syscall.ESRCH) }
