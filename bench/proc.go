package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the kernel's unit of processor time in /proc: 1/USER_HZ, which is 100 on Linux.
const tick = 10 * time.Millisecond

// cpuOf returns the processor time that a process has used; 0 if it is gone.
func cpuOf(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(text, []byte(") ")) // the name may contain anything
	fields := bytes.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
	system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * tick
}

// cpuOfSelf returns the processor time that this process has used.
func cpuOfSelf() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// cpuOfMachine returns the processor time that all processes have used, including what the
// hypervisor took.
func cpuOfMachine() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(first) // cpu user nice system idle iowait irq softirq steal ...
	var sum time.Duration
	for i, field := range fields {
		if i == 0 || i == 4 || i == 5 || i > 8 {
			continue
		}
		n, _ := strconv.ParseInt(field, 10, 64)
		sum += time.Duration(n) * tick
	}
	return sum
}

// peakRSS returns the most memory that a process image has held, in bytes; 0 if it is gone. The
// peak in getrusage begins with what the parent held when it forked.
func peakRSS(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if after, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, _ := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

// Machine is the machine of a measurement.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory int64  `json:"memory_bytes"`
	Kernel string `json:"kernel"`
	System string `json:"system"`
	// FsyncMS is the median of a 4 kB write and fsync, in the file system of the data folders.
	FsyncMS float64 `json:"fsync_ms"`
}

func describeMachine(dir string) (Machine, error) {
	m := Machine{Cores: runtime.NumCPU()}
	m.CPU = lineOf("/proc/cpuinfo", "model name\t: ")
	m.System = strings.Trim(lineOf("/etc/os-release", "PRETTY_NAME="), `"`)
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // empty: not known
	m.Kernel = strings.TrimSpace(string(kernel))
	if fields := strings.Fields(lineOf("/proc/meminfo", "MemTotal:")); len(fields) > 0 {
		kilobytes, _ := strconv.ParseInt(fields[0], 10, 64)
		m.Memory = kilobytes << 10
	}
	var err error
	m.FsyncMS, err = fsyncTime(dir)
	return m, err
}

func lineOf(path, prefix string) string {
	text, _ := os.ReadFile(path) // empty: not known
	for line := range strings.Lines(string(text)) {
		if after, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(after)
		}
	}
	return ""
}

// fsyncTime is the time of a commit here, in milliseconds.
func fsyncTime(dir string) (float64, error) {
	path := filepath.Join(dir, "fsync")
	f, err := os.Create(path)
	if err != nil {
		return 0, fmt.Errorf("measure fsync: %w", err)
	}
	defer os.Remove(path)
	defer f.Close()
	block := make([]byte, 4096)
	var times []float64
	for range 200 {
		if _, err := f.Write(block); err != nil {
			return 0, fmt.Errorf("measure fsync: %w", err)
		}
		start := time.Now()
		if err := f.Sync(); err != nil {
			return 0, fmt.Errorf("measure fsync: %w", err)
		}
		times = append(times, time.Since(start).Seconds()*1e3)
	}
	return median(times), nil
}

func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg") // empty: not known
	return strings.TrimSpace(string(text))
}
