package sandbox

import (
	"errors"
	"os"
	"syscall"
)

// supported says whether servers can be run on this system.
const supported = true

// childAttributes make a child die with the thread that started it, which must therefore stay (see
// startProcess), and keep the terminal's Ctrl-C away from it: stopping it is our business.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// tryLock takes the file's exclusive lock if nobody holds it. The lock goes with the last
// descriptor of this opening of the file, so a crash leaves none behind.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
