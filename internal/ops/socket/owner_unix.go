//go:build unix

package socket

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ours says that a file belongs to the user of this process.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// exclude waits until no other process has the file locked, and locks it.
func exclude(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_EX) }
