//go:build unix

package record

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// ProcessUsage asks the system. The peak is the process image's own (VmHWM): the one of
// getrusage begins, on Linux, with what the parent held when it forked.
func ProcessUsage() Usage {
	var used Usage
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil {
		used.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return used
	}
	for line := range bytes.Lines(status) {
		fields := bytes.Fields(line)
		if len(fields) == 3 && string(fields[0]) == "VmHWM:" {
			kilobytes, _ := strconv.ParseInt(string(fields[1]), 10, 64) // 0: not known
			used.PeakRSS = kilobytes << 10
		}
	}
	return used
}
