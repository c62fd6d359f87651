package queue

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"midstream/internal/mysql/escape"
)

// holder describes this process to an operator whose serve finds the store or the folder taken.
func holder() string {
	text := fmt.Sprintf("process %d", os.Getpid())
	if u, err := user.Current(); err == nil {
		text += " of " + u.Username
	}
	if host, err := os.Hostname(); err == nil {
		text += " on " + host
	}
	return text + ", since " + time.Now().UTC().Format("2006-01-02 15:04:05 UTC")
}

// longestHolder is the most bytes of a description that are read.
const longestHolder = 1000

// sign writes the description of this process into the lock file of a folder. If the disk is full,
// the lock holds without it.
func sign(lock *os.File) {
	if lock.Truncate(0) == nil {
		_, _ = lock.WriteAt([]byte(holder()+"\n"), 0)
	}
}

// takenBy adds the process that is described in a folder's lock file to an error.
func takenBy(taken error, folder string) error {
	file, err := os.Open(filepath.Join(folder, lockFile))
	if err != nil {
		return taken
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, longestHolder))
	return takenByThe(taken, string(bytes.TrimSpace(text)))
}

// takenByThe adds the description of a process to an error; "" adds nothing.
func takenByThe(taken error, name string) error {
	if name == "" {
		return taken
	}
	return fmt.Errorf("%w: %s", taken, escape.Line(name[:min(len(name), longestHolder)]))
}
