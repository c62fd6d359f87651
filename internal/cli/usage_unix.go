//go:build unix

package cli

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// usageOfProcess is what this process has used.
type usageOfProcess struct {
	peakRSS int64 // bytes; 0: not known
	cpu     time.Duration
}

// processUsage asks the system. The peak is the process image's own (VmHWM): the one of
// getrusage begins, on Linux, with what the parent held when it forked.
func processUsage() usageOfProcess {
	var used usageOfProcess
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil {
		used.cpu = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return used
	}
	for line := range bytes.Lines(status) {
		fields := bytes.Fields(line)
		if len(fields) == 3 && string(fields[0]) == "VmHWM:" {
			kilobytes, _ := strconv.ParseInt(string(fields[1]), 10, 64) // 0: not known
			used.peakRSS = kilobytes << 10
		}
	}
	return used
}
