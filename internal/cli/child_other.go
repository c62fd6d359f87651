//go:build !unix

package cli

import "os/exec"

// ownGroup does nothing on this system.
func ownGroup(*exec.Cmd) {}
