//go:build unix

package web

import "syscall"

// mostFiles is how many files this process may have open; 0 where that is not known.
func mostFiles() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(limit.Cur, 1<<20))
}
