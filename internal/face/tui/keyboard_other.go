//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tui

import "os"

// keyboard is none: keys are taken on Unix.
type keyboard struct{}

func listen(*os.File, func(byte)) *keyboard { return nil }
func (*keyboard) close()                    {}
