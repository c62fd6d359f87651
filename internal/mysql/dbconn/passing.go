package dbconn

import (
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"syscall"
)

// Passes reports whether the cause of an error passes by itself, or after an operator has made room
// on this machine. Then the same may be tried again. Such causes are: the server has no connection
// left, another transaction was blocking, the connection broke, or this machine has no file,
// process, memory or disk left. A server that has no disk or memory left is no such cause, because
// each try would take more of it.
func Passes(err error) bool {
	switch Number(err) {
	case errTooManyConnections, errTooManyOfUser, errUserLimit,
		errLockWaitTimeout, errDeadlock, errLockNowait, errRecordChanged, errGroupConflict:
		return true
	}
	var name *net.DNSError
	var network *net.OpError
	var number syscall.Errno
	switch {
	case errors.As(err, &name) && name.IsNotFound, untrusted(err):
		return false // the address or the TLS settings are wrong
	case errors.As(err, &network):
		return true
	case errors.As(err, &number):
		return slices.Contains(lacking(), number)
	case NotConnected(err):
		return slices.ContainsFunc(lostErrors, func(lost error) bool { return errors.Is(err, lost) })
	}
	return ConnectionLost(err)
}

// untrusted reports that the two sides could not agree on TLS.
func untrusted(err error) bool {
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	return errors.As(err, &certificate) || errors.As(err, &alert) || errors.As(err, &record)
}

// lacking lists the error numbers of this machine for a shortage.
func lacking() []syscall.Errno {
	return []syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, syscall.EDQUOT, syscall.EAGAIN, syscall.ENOMEM,
		syscall.ENOBUFS, syscall.EINTR, syscall.ETXTBSY,
	}
}
