package dbconn

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"
)

// lostNumbers are the errors with which a server ends a connection, or reports that its network
// failed.
var lostNumbers = map[uint16]bool{
	1053: true, // shutdown in progress
	1077: true, // normal shutdown
	1080: true, // connection closed by force
	1152: true, // aborted connection
	1158: true, // network: cannot read
	1159: true, // network: cannot read in time
	1160: true, // network: cannot write
	1161: true, // network: cannot write in time
	1184: true, // aborted connection
	1927: true, // connection was killed (MariaDB)
	3169: true, // session was killed
	4031: true, // client was silent for too long
}

// lostErrors are the client's errors after which a connection is of no use. The server's last
// message may arrive together with an answer. Then the driver finds its buffer busy, or the numbers
// of the packets out of order.
var lostErrors = []error{
	driver.ErrBadConn, sql.ErrConnDone, ErrPassword,
	mysql.ErrInvalidConn, mysql.ErrBusyBuffer, mysql.ErrMalformPkt, mysql.ErrPktSync, mysql.ErrPktSyncMul,
	io.EOF, io.ErrUnexpectedEOF, io.ErrShortWrite, io.ErrClosedPipe, net.ErrClosed,
}

// connectError is why a new connection could not be opened.
type connectError struct{ cause error }

func (e *connectError) Error() string { return fmt.Sprintf("open a connection: %v", e.cause) }

func (e *connectError) Unwrap() error { return e.cause }

// notConnected marks an error of opening a connection, unless the caller has given up.
func notConnected(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return &connectError{err}
}

// NotConnected reports that a new connection could not be opened, for whatever reason: no statement was sent by it.
func NotConnected(err error) bool {
	var e *connectError
	return errors.As(err, &e)
}

// ConnectionLost reports that the connection broke, or that none could be opened and the server
// gave no reason. If a statement was under way, it is not known whether the server executed it.
func ConnectionLost(err error) bool {
	if err == nil {
		return false
	}
	if number := Number(err); number != 0 {
		return lostNumbers[number]
	}
	for _, lost := range lostErrors {
		if errors.Is(err, lost) {
			return true
		}
	}
	var network net.Error
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return NotConnected(err) || errors.As(err, &network) || errors.As(err, &record) || errors.As(err, &alert)
}
