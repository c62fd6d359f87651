package migration_test

import (
	"net"
	"sync"
)

// dump is a connection between a server's binlog and a run. It may be cut in the middle of what the
// server sends, and lead to another server afterwards.
type dump struct {
	listener net.Listener
	done     sync.WaitGroup

	mu       sync.Mutex
	server   string
	left     int // bytes until it is cut; negative for no limit
	absent   func()
	conns    []net.Conn
	accepted int
}

// dump makes the run read the binlog through this connection.
func (b *bench) dump() *dump {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	d := &dump{listener: listener, server: b.server.Address, left: -1}
	b.binlog = listener.Addr().String()
	d.done.Go(d.accept)
	b.Cleanup(func() {
		listener.Close()
		d.closeAll()
		d.done.Wait()
	})
	return d
}

// cutAfter cuts the connection after that many more bytes. No connection is accepted again before
// absent has returned.
func (d *dump) cutAfter(bytes int, absent func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.absent = bytes, absent
}

// leadTo leads the next connection to another server.
func (d *dump) leadTo(address string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.server = address
}

// connections is the number of times that the run has connected.
func (d *dump) connections() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.accepted
}

func (d *dump) closeAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		c.Close()
	}
	d.conns = nil
}

func (d *dump) accept() {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			return
		}
		d.mu.Lock()
		address := d.server
		d.accepted++
		d.mu.Unlock()
		server, err := net.Dial("tcp", address)
		if err != nil {
			client.Close()
			continue
		}
		d.mu.Lock()
		d.conns = append(d.conns, client, server)
		d.mu.Unlock()
		d.done.Go(func() { d.pass(server, client, nil) })
		// In this goroutine: the next connection is accepted when this one has ended.
		d.pass(client, server, d.take)
	}
}

// take decides how many of the bytes may pass.
func (d *dump) take(n int) (pass int, cut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.left < 0:
		return n, false
	case n < d.left:
		d.left -= n
		return n, false
	}
	pass, d.left = d.left, -1
	return pass, true
}

// pass copies from one end to the other.
func (d *dump) pass(to, from net.Conn, take func(n int) (pass int, cut bool)) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 1<<15)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		cut := false
		if take != nil {
			n, cut = take(n)
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
		if cut {
			to.Close()
			from.Close()
			d.mu.Lock()
			absent := d.absent
			d.mu.Unlock()
			if absent != nil {
				absent()
			}
			return
		}
	}
}
