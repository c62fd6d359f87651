//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tui

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/termios"
	"github.com/muesli/cancelreader"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// keyboard reads single keys from a terminal, while the process is in its foreground.
type keyboard struct {
	in     *os.File
	reader cancelreader.CancelReader
	shell  *unix.Termios // the terminal's modes before
	stop   chan struct{}
	done   chan struct{}

	mu    sync.Mutex // of the modes
	ended bool
}

// background is how often a process in the background looks whether it is in the foreground again.
const background = 200 * time.Millisecond

// listen hands over each key that is pressed, until close. It returns nil where there is no terminal.
func listen(in *os.File, press func(k byte)) *keyboard {
	if in == nil || !term.IsTerminal(int(in.Fd())) {
		return nil
	}
	modes, err := termios.GetTermios(int(in.Fd()))
	if err != nil {
		return nil
	}
	reader, err := cancelreader.NewReader(in)
	if err != nil {
		return nil
	}
	k := &keyboard{in: in, reader: reader, shell: modes, stop: make(chan struct{}), done: make(chan struct{})}
	// A read by a process in the background would stop it; so it fails.
	signal.Ignore(unix.SIGTTIN)
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, unix.SIGCONT)
	go func() {
		defer close(k.done)
		defer signal.Stop(resumed)
		defer reader.Close()
		k.read(press)
	}()
	go func() { // the shell has had the terminal meanwhile
		for {
			select {
			case <-resumed:
				k.modes(false)
			case <-k.done:
				return
			}
		}
	}()
	return k
}

func (k *keyboard) read(press func(k byte)) {
	keys := make([]byte, 64)
	for {
		if k.modes(false) {
			n, err := k.reader.Read(keys)
			switch {
			case err == nil && n == 1: // else an arrow, say, or what was pasted
				press(keys[0])
				continue
			case err == nil && n > 1, errors.Is(err, syscall.EINTR):
				continue
			case errors.Is(err, cancelreader.ErrCanceled), errors.Is(err, io.EOF), err == nil:
				return
			}
		}
		select {
		case <-k.stop:
			return
		case <-time.After(background):
		}
	}
}

// modes has the terminal give each key at once and show none, or gives it back, and says whether
// the process is in its foreground.
func (k *keyboard) modes(back bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	fd := int(k.in.Fd())
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || group != unix.Getpgrp() || k.ended {
		return false
	}
	local := map[termios.L]bool{termios.ICANON: false, termios.ECHO: false}
	if back {
		k.ended = true
		local = map[termios.L]bool{termios.ICANON: k.shell.Lflag&unix.ICANON != 0, termios.ECHO: k.shell.Lflag&unix.ECHO != 0}
	}
	return termios.SetTermios(fd, uint32(k.shell.Ispeed), uint32(k.shell.Ospeed), nil, nil, nil, nil, local) == nil
}

// close gives the terminal back. It may be called again, and from any goroutine.
func (k *keyboard) close() {
	k.mu.Lock()
	select {
	case <-k.stop:
	default:
		close(k.stop)
	}
	k.mu.Unlock()
	if k.reader.Cancel() {
		<-k.done
	} // else it reads until the process ends
	k.modes(true)
}
