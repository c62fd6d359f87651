package sandbox

import (
	"fmt"
	"os"
	"syscall"
)

// memoryRun returns a folder for running servers on a file system in memory; "" if this machine has
// none, or no room: a server's files take up to about 1 GiB, and servers start next to each other.
func memoryRun() string {
	const (
		shared = "/dev/shm"
		tmpfs  = 0x01021994 // TMPFS_MAGIC of statfs(2)
		room   = 10 << 30   // bytes
	)
	var fs syscall.Statfs_t
	if err := syscall.Statfs(shared, &fs); err != nil || fs.Type != tmpfs || int64(fs.Bavail)*fs.Bsize < room {
		return ""
	}
	if available() < room {
		return ""
	}
	dir := fmt.Sprintf("%s/midstream-%d", shared, os.Getuid())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	return dir
}

// available is the memory in bytes that programs may still take (MemAvailable of proc(5)); 0 if not known.
func available() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for {
		var name, unit string
		var n int64
		if _, err := fmt.Fscanf(f, "%s %d %s\n", &name, &n, &unit); err != nil {
			return 0
		}
		if name == "MemAvailable:" {
			return n << 10
		}
	}
}
