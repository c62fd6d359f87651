package web

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

const (
	// mostConnections bounds the open connections. A process that may open few files has a lower bound.
	mostConnections = 256
	// mostRequests bounds the requests at work, of clients that have the token.
	mostRequests = 64
	// mostStreams bounds the readers that follow runs.
	mostStreams = 64
	// hello is the time that a new connection has to send its first request before it may be closed for another.
	hello = 250 * time.Millisecond
	// turn bounds the wait of a request for its turn.
	turn = 10 * time.Second
)

// crowd is a listener that bounds its connections. For one more, it closes the connection that has
// been silent longest. If all are at work, the new one waits. It is safe for concurrent use.
type crowd struct {
	net.Listener
	most int

	mu    sync.Mutex
	freed *sync.Cond
	open  map[net.Conn]time.Time // when each may be closed for another; zero at work
	over  bool
}

func newCrowd(listener net.Listener, most int) *crowd {
	c := &crowd{Listener: listener, most: most, open: map[net.Conn]time.Time{}}
	c.freed = sync.NewCond(&c.mu)
	return c
}

// fewer lowers a bound to a quarter of the files that this process may open.
func fewer(most int) int {
	if files := mostFiles(); files > 0 {
		return max(4, min(most, files/4))
	}
	return most
}

// Accept waits for a connection, and then for room.
func (c *crowd) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		if shortage(err) {
			c.mu.Lock()
			c.dismiss()
			c.mu.Unlock()
			err = &passing{err}
		}
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) >= c.most && !c.over && !c.dismiss() {
		again := time.AfterFunc(hello, c.freed.Broadcast)
		c.freed.Wait()
		again.Stop()
	}
	if c.over {
		conn.Close()
		return nil, net.ErrClosed
	}
	counted := &counted{Conn: conn, crowd: c}
	c.open[counted] = time.Now().Add(hello)
	return counted, nil
}

// Close makes Accept return.
func (c *crowd) Close() error {
	c.mu.Lock()
	c.over = true
	c.freed.Broadcast()
	c.mu.Unlock()
	return c.Listener.Close()
}

// dismiss closes the connection that has been silent longest, and reports whether there was one.
// REQUIRES: mu is held.
func (c *crowd) dismiss() bool {
	var longest net.Conn
	for conn, since := range c.open {
		if !since.IsZero() && !since.After(time.Now()) && (longest == nil || since.Before(c.open[longest])) {
			longest = conn
		}
	}
	if longest == nil {
		return false
	}
	delete(c.open, longest)
	_ = longest.(*counted).Conn.Close() // the server then closes its own side
	return true
}

// state is the hook http.Server.ConnState. It records which connections are silent.
func (c *crowd) state(conn net.Conn, state http.ConnState) {
	if secure, is := conn.(*tls.Conn); is {
		conn = secure.NetConn()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, is := c.open[conn]; !is {
		return
	}
	switch state {
	case http.StateActive:
		c.open[conn] = time.Time{}
	case http.StateIdle:
		c.open[conn] = time.Now()
		c.freed.Broadcast() // there may be room now
	}
}

// counted is a connection of a crowd.
type counted struct {
	net.Conn
	crowd *crowd
}

func (c *counted) Close() error {
	c.crowd.mu.Lock()
	delete(c.crowd.open, c)
	c.crowd.freed.Broadcast()
	c.crowd.mu.Unlock()
	return c.Conn.Close()
}

// shortage reports that this machine had no file, buffer or memory for a connection.
func shortage(err error) bool {
	for _, number := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, number) {
			return true
		}
	}
	return false
}

// passing is an error after which http.Server soon accepts connections again.
type passing struct{ error }

func (*passing) Timeout() bool   { return false }
func (*passing) Temporary() bool { return true }

// turns bounds the requests that are at work at once.
type turns chan struct{}

// take waits for a turn, and done gives it back. If the turn does not come in time, the client gets 503.
func (t turns) take(w http.ResponseWriter, r *http.Request, patience time.Duration, what string) (done func(), ok bool) {
	done = func() { <-t }
	select {
	case t <- struct{}{}:
		return done, true
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case t <- struct{}{}:
		return done, true
	case <-r.Context().Done():
	case <-timer.C:
	}
	w.Header().Set("Retry-After", "5")
	refuse(w, r, http.StatusServiceUnavailable, "nothing was done", "too many "+what+" at once", "try again in some seconds")
	return nil, false
}
