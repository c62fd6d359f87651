package binlog

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// These are the errors of Run, in addition to the context's and the handler's own. The events
// handed out before are good in every case.
var (
	// ErrPurged means that the server doesn't have the position to start from: the file was purged,
	// or it is another server. The only remedy is to start again.
	ErrPurged = errors.New("binlog position is not on the server")

	// ErrOtherServer means that another server answers than the server that was read so far, after
	// a failover perhaps. Positions mean nothing there.
	ErrOtherServer = errors.New("another server answers")

	// ErrConnection means that the server could not be reached or the stream broke. Run may be
	// called again from the End of the last group.
	ErrConnection = errors.New("binlog connection lost")

	// ErrRefused means that the server did not take the connection: the account was changed or
	// locked, perhaps.
	ErrRefused = errors.New("the server refuses a connection for the binlog")

	// ErrSchemaDrift means that a watched table was altered.
	ErrSchemaDrift = errors.New("table was altered")

	// ErrIncident means that the server lost events (an INCIDENT event): changes may be missing
	// from the binlog. Start again.
	ErrIncident = errors.New("server reports a gap in its binlog")

	// ErrIncomplete means that a row event lacks a watched column and its value can't be known. The
	// column is not part of the key that the server uses to identify rows under binlog_row_image
	// MINIMAL.
	ErrIncomplete = errors.New("row event lacks a watched column")

	// ErrUnsupported means that the binlog holds something that can't be read.
	ErrUnsupported = errors.New("not supported in the binlog")
)

// errFrame means that the server's packets are out of order. It is an ErrConnection: the same
// events are read again.
var errFrame = fmt.Errorf("%w: packets are out of order", ErrConnection)

// errGarbled means that the data is no binlog, or a damaged one.
var errGarbled = errors.New("binlog is garbled")

// ServerError is an error that the server sent. Find it with errors.As.
type ServerError struct {
	Number  uint16
	Message string
}

func (e *ServerError) Error() string { return fmt.Sprintf("error %d: %s", e.Number, e.Message) }

// fatalDump is the server's error for whatever stops a dump: no such file, no such
// offset, a damaged file, another reader with our UUID.
const fatalDump = 1236

// lost are the server's errors that end a connection, or that refuse one for now.
var lost = map[uint16]bool{
	1040: true,             // too many connections
	1053: true,             // shutdown in progress
	1077: true, 1080: true, // shutdown, closed by force
	1152: true,                                     // aborted connection
	1158: true, 1159: true, 1160: true, 1161: true, // network: read, timeout, packet, write
	1184: true, // aborted connection
	1203: true, // too many connections of this user
	1317: true, // interrupted
	1927: true, // killed (MariaDB)
	3169: true, // killed
	4031: true, // idle for too long
}

// serverError reads an error packet.
func serverError(packet []byte) error {
	c := cursor{data: packet[1:]}
	e := &ServerError{Number: uint16(c.uint(2))}
	if len(c.data) >= 6 && c.data[0] == '#' {
		c.bytes(6) // SQL state
	}
	e.Message = string(c.data)
	return e
}

// classify marks the errors of a lost connection with ErrConnection and turns the library's into
// ours. It leaves 1236 to the caller. The caller knows whether reading had begun.
func classify(err error) error {
	var library *mysql.MyError
	if errors.As(err, &library) {
		err = &ServerError{Number: library.Code, Message: library.Message}
	}
	var server *ServerError
	if errors.As(err, &server) {
		if lost[server.Number] {
			return fmt.Errorf("%w: %w", ErrConnection, err)
		}
		return err
	}
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, mysql.ErrBadConn) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", ErrConnection, err)
	}
	return err
}

// classifyDial is classify for a connection that could not be made: whatever the client makes of
// the server's answers, no event was lost.
func classifyDial(err error) error {
	err = classify(err)
	var server *ServerError
	switch {
	case errors.Is(err, ErrConnection), errors.Is(err, ErrOtherServer):
		return err
	case errors.As(err, &server):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return fmt.Errorf("%w: %w", ErrConnection, err)
}

// dumpError interprets an error of the dump. began reports whether the server had taken the
// position before the error.
func dumpError(err error, began bool) error {
	var server *ServerError
	if !errors.As(err, &server) || server.Number != fatalDump {
		return err
	}
	if began {
		return fmt.Errorf("%w: %w", ErrConnection, err)
	}
	return fmt.Errorf("%w: %w", ErrPurged, err)
}
