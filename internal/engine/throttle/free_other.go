//go:build !linux && !darwin && !freebsd

package throttle

import (
	"errors"
	"fmt"
)

// FreeBytes is what a file system has free: not known here.
func FreeBytes(path string) (int64, error) {
	return 0, fmt.Errorf("look at the free space of %s: %w", path, errors.ErrUnsupported)
}
