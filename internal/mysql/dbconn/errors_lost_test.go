package dbconn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// TestL9_EveryErrorOfAConnectionIsOne: any error of the driver, the network or the server about a
// broken connection is recognized as one, so that the work is kept. An error of a statement is not.
func TestL9_EveryErrorOfAConnectionIsOne(t *testing.T) {
	for _, err := range []error{
		mysql.ErrInvalidConn, mysql.ErrBusyBuffer, mysql.ErrMalformPkt, mysql.ErrPktSync, mysql.ErrPktSyncMul,
		io.EOF, io.ErrUnexpectedEOF, io.ErrShortWrite, io.ErrClosedPipe, net.ErrClosed,
		&net.OpError{Op: "read", Err: syscall.ECONNRESET}, tls.AlertError(20), tls.RecordHeaderError{Msg: "no TLS"},
		&connectError{x509.UnknownAuthorityError{}}, &connectError{mysql.ErrNoTLS}, &connectError{errors.New("unsupported protocol version 0")},
		&mysql.MySQLError{Number: 1053}, &mysql.MySQLError{Number: 1158},
		&mysql.MySQLError{Number: 1927}, &mysql.MySQLError{Number: 3169}, &mysql.MySQLError{Number: 4031},
	} {
		if wrapped := fmt.Errorf("cut-over: %w", err); !ConnectionLost(wrapped) {
			t.Errorf("%T %v is not taken for a lost connection", err, err)
		}
	}
	for _, err := range []error{nil, errors.New("a rule of ours"), mysql.ErrPktTooLarge, &mysql.MySQLError{Number: 1062}, &mysql.MySQLError{Number: 1205},
		&connectError{&mysql.MySQLError{Number: 1045}}} {
		if ConnectionLost(err) {
			t.Errorf("%v is taken for a lost connection", err)
		}
	}
	if err := fmt.Errorf("open session: %w", &connectError{&mysql.MySQLError{Number: 1045}}); !NotConnected(err) {
		t.Errorf("%v is not taken for a connection that could not be opened", err)
	}
}
