package ptosc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// HoldPID writes the process's number into the file of --pid, and returns what removes it. It
// refuses where the file names another process that is alive.
func (a *Asked) HoldPID() (release func(), err error) {
	if a.PID == "" {
		return func() {}, nil
	}
	there, err := os.ReadFile(a.PID)
	switch {
	case err == nil:
		former, parseErr := strconv.Atoi(strings.TrimSpace(string(there)))
		if parseErr != nil {
			return nil, fmt.Errorf("PID file %s exists but it is empty.  Remove the file if the process is no longer running.", a.PID)
		}
		if former != os.Getpid() && alive(former) {
			return nil, fmt.Errorf("PID file %s exists and PID %d is running", a.PID, former)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("Cannot read PID file %s: %w", a.PID, err)
	}
	if err := os.WriteFile(a.PID, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		return nil, fmt.Errorf("Cannot create PID file %s: %w", a.PID, err)
	}
	return func() { _ = os.Remove(a.PID) }, nil
}

// alive says whether there is a process of a number, as far as that can be told.
func alive(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = process.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, syscall.EPERM)
}
