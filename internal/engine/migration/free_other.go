//go:build !linux && !darwin && !freebsd

package migration

import (
	"errors"
	"fmt"
)

// freeBytes is what a file system has free: not known here.
func freeBytes(path string) (int64, error) {
	return 0, fmt.Errorf("look at the free space of %s: %w", path, errors.ErrUnsupported)
}
