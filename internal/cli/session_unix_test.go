package cli

import (
	"os/exec"
	"syscall"
)

// ownSession takes the terminal of the tests away from a process.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
