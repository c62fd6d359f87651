package socket

import (
	"net"
	"syscall"
)

// peerOf asks the kernel who has connected.
func peerOf(conn net.Conn) string {
	const unknown = "an unknown process"
	unix, is := conn.(*net.UnixConn)
	if !is {
		return unknown
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return unknown
	}
	var cred *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil || failed != nil {
		return unknown
	}
	return nameOf(cred.Uid, cred.Pid)
}
