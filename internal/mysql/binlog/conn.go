package binlog

import (
	"context"
	crand "crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"

	"midstream/internal/mysql/schema"
)

const (
	dialTimeout = 10 * time.Second
	heartbeat   = 500 * time.Millisecond
	// patience is the number of seconds that the server waits for us to take a packet.
	patience = 600
)

// conn is a connection that the server sends its binlog on.
type conn struct {
	socket  net.Conn
	packets *packets
	release func() bool // stops watching the context
}

// dial connects to the server and has it send its binlog from a position on. The
// connection is reset when ctx ends.
func dial(ctx context.Context, server Server, silence time.Duration, from Position) (*conn, error) {
	c := &conn{}
	password := server.Password
	if server.PasswordFrom != nil {
		var err error
		if password, err = server.PasswordFrom(ctx); err != nil {
			return nil, fmt.Errorf("connect to %s: %w", server, err)
		}
	}
	dialer := func(ctx context.Context, network, address string) (net.Conn, error) {
		socket, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
		if err == nil {
			c.socket = socket
			c.release = context.AfterFunc(ctx, c.reset)
		}
		return socket, err
	}
	session, err := client.ConnectWithDialer(ctx, server.network(), server.Address,
		server.User, password, "", dialer, func(session *client.Conn) error {
			session.SetAttributes(map[string]string{"program_name": "midstream"})
			session.SetTLSConfig(serverTLS(server))
			session.ReadTimeout, session.WriteTimeout = silence, silence
			return nil
		})
	if err == nil {
		err = checkIdentity(session, server.UUID)
	}
	if err == nil {
		err = requestDump(session, server.ServerID, from)
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("connect to %s: %w", server, classifyDial(err))
	}
	// The server is silent until it answers the request, so nothing is lost in the
	// session's own buffer.
	c.packets = newPackets(session.Conn.Conn, silence)
	return c, nil
}

// serverTLS returns the server's TLS settings with the name to verify.
func serverTLS(server Server) *tls.Config {
	if server.TLS == nil || server.TLS.ServerName != "" || server.TLS.InsecureSkipVerify {
		return server.TLS
	}
	config := server.TLS.Clone()
	if host, _, err := net.SplitHostPort(server.Address); err == nil {
		config.ServerName = host
	}
	return config
}

// checkIdentity fails with ErrOtherServer unless the server has the UUID.
func checkIdentity(session *client.Conn, uuid string) error {
	if uuid == "" {
		return nil
	}
	result, err := session.Execute("SELECT " + schema.ThisServer)
	if err != nil {
		return err
	}
	defer result.Close()
	found, err := result.GetString(0, 0)
	if err == nil && found != uuid {
		err = fmt.Errorf("%w: its server_uuid is %s, and was %s", ErrOtherServer, found, uuid)
	}
	return err
}

// requestDump asks for the binlog. It doesn't register as a replica: SHOW REPLICAS is for replicas.
// Without the UUID, the server could take us for the return of a reader with the same server id,
// and throw that reader out.
func requestDump(session *client.Conn, serverID uint32, from Position) error {
	settings := fmt.Sprintf("SET @master_heartbeat_period=%d, @source_heartbeat_period=%[1]d,"+
		" @master_binlog_checksum='NONE', @source_binlog_checksum='NONE',"+ // we read what comes
		" @slave_uuid='%s', @replica_uuid='%[2]s', @mariadb_slave_capability=4,"+
		" SESSION net_write_timeout=%d", heartbeat.Nanoseconds(), newUUID(), patience)
	if _, err := session.Execute(settings); err != nil {
		return err
	}

	offset := max(from.Offset, firstEvent)
	if offset > math.MaxUint32 {
		// The request has 32 bits; stream passes over the rest.
		offset = firstEvent
	}
	if serverID == 0 {
		serverID = 1<<31 + rand.Uint32N(1<<31-1)
	}
	request := make([]byte, frameHeadSize, 64)
	request = append(request, mysql.COM_BINLOG_DUMP)
	request = binary.LittleEndian.AppendUint32(request, uint32(offset))
	request = binary.LittleEndian.AppendUint16(request, 0) // wait for more at the end
	request = binary.LittleEndian.AppendUint32(request, serverID)
	request = append(request, from.File...)
	session.ResetSequence()
	return session.WritePacket(request)
}

func newUUID() string {
	var b [16]byte
	_, _ = crand.Read(b[:]) // never fails
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// next returns the next event, valid until the next call.
func (c *conn) next() ([]byte, error) {
	packet, err := c.packets.next()
	if err != nil {
		return nil, classify(err)
	}
	if len(packet) == 0 {
		return nil, fmt.Errorf("%w: empty packet", errGarbled)
	}
	switch packet[0] {
	case mysql.OK_HEADER:
		return packet[1:], nil
	case mysql.ERR_HEADER:
		return nil, classify(serverError(packet))
	case mysql.EOF_HEADER:
		return nil, fmt.Errorf("%w: the server ended the stream", ErrConnection)
	}
	return nil, fmt.Errorf("%w: packet that begins with %#x", errGarbled, packet[0])
}

// close resets the connection.
func (c *conn) close() {
	if c.release != nil {
		c.release()
		c.reset()
	}
}

// reset closes the socket. The server sees an error when it next sends, a heartbeat later at most.
// After an orderly close the server would send once in vain, and TLS would wait for its close
// message.
func (c *conn) reset() {
	if tcp, ok := c.socket.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.socket.Close()
}
