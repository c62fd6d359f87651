//go:build unix

package session

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a child out of our process group.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
