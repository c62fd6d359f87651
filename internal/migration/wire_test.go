package migration_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"
)

// wire is the way from a run to its server. It cuts a connection, once, at a statement.
type wire struct {
	listener net.Listener
	server   string
	at       string // a part of the statement
	answered bool   // whether the server gets it, and only its answer is lost
	done     sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// cutAt has the run go through a wire that is cut at a statement: before the server gets it,
// or, with lost, after.
func (b *bench) cutAt(statement string, lost bool) *wire {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	w := &wire{listener: listener, server: b.server.Address, at: statement, answered: lost}
	b.address = listener.Addr().String()
	w.done.Go(w.accept)
	b.Cleanup(w.close)
	return w
}

func (w *wire) close() {
	w.listener.Close()
	w.mu.Lock()
	for _, c := range w.conns {
		c.Close()
	}
	w.mu.Unlock()
	w.done.Wait()
}

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.server)
		if err != nil {
			client.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, client, server)
		w.mu.Unlock()
		w.done.Go(func() { w.forward(client, server) })
		w.done.Go(func() {
			io.Copy(client, server)
			client.Close()
		})
	}
}

// forward passes on what the client says.
func (w *wire) forward(client, server net.Conn) {
	defer server.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		here := w.here(buffer[:n])
		if here {
			client.Close()
		}
		if here && !w.answered {
			return
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
		if here {
			time.Sleep(300 * time.Millisecond) // the server is done
			return
		}
	}
}

// here says that the wire is to be cut at this.
func (w *wire) here(said []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut || !bytes.Contains(said, []byte(w.at)) {
		return false
	}
	w.cut = true
	return true
}

// wasCut says whether the statement came.
func (w *wire) wasCut() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut
}
