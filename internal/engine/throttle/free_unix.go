//go:build linux || darwin || freebsd

package throttle

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// FreeBytes returns the free bytes of a file system for a user who is not its administrator.
func FreeBytes(path string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, fmt.Errorf("look at the free space of %s: %w", path, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
