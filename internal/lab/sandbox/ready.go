package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// errPortTaken means that somebody else listens where the server should.
var errPortTaken = errors.New("the port is taken")

// freePort returns a port that nobody listens on just now. It lies below the range from which the
// system takes the near ends of outgoing connections, so that it is still free when a killed server
// comes back for it.
func freePort() (int, error) {
	const from, to = 20000, 32000
	var last error
	for range 100 {
		port := from + rand.IntN(to-from)
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			return port, l.Close()
		}
		last = err
	}
	return 0, fmt.Errorf("find a free port: %w", last)
}

// portTaken says whether somebody listens on the address.
func portTaken(address string) bool {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return true
	}
	l.Close()
	return false
}

// awaitAnswer returns when the server process p greets those who connect to the address. The pid
// file comes first: the server writes it once it has its port, so from then on whoever answers there
// is p and nobody else.
func awaitAnswer(ctx context.Context, p *process, pidFile, address string) error {
	for {
		if ownPID(pidFile, p.pid) && greets(ctx, address) {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("the server ended: %s", p.fate())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond): // another program's progress: there is nothing to wait on
		}
	}
}

func ownPID(pidFile string, pid int) bool {
	text, err := os.ReadFile(pidFile)
	return err == nil && strings.TrimSpace(string(text)) == strconv.Itoa(pid)
}

// greets says whether a server sends its greeting: a packet of protocol version 10. A server that
// refuses sends an error packet instead.
func greets(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return false
	}
	var head [5]byte // length of the packet in three bytes, its number, the protocol version
	_, err = io.ReadFull(conn, head[:])
	return err == nil && head[4] == 10
}
