//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"syscall"
)

// supported says whether servers can be run on this system.
const supported = false

func childAttributes() *syscall.SysProcAttr { return nil }

func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }
