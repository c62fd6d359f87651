//go:build unix

package history

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Gone reports that this machine has no such process, or only what is left of it until its parent asks for its end.
func Gone(process int) bool {
	if errors.Is(syscall.Kill(process, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process)) // proc(5); other systems than Linux may have none
	return err == nil && bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" Z "))
}
