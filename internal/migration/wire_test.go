package migration_test

import (
	"bytes"
	"io"
	"net"
	"sync"
)

// wire is the way from a run to its server. Once, at a statement, it does something else than
// to pass it on.
type wire struct {
	listener net.Listener
	server   string
	after    string // a part of a statement that comes before; "" for none
	at       string // a part of the statement
	answered bool   // when it is cut: whether the server gets the statement, and only its answer is lost
	instead  func() // what happens before the statement is passed on; nil to cut the connection
	done     sync.WaitGroup

	mu    sync.Mutex
	armed bool // what comes before has come
	cut   bool
	conns []net.Conn
}

// cutAt has the run go through a wire that is cut at a statement: before the server gets it,
// or, with lost, after.
func (b *bench) cutAt(statement string, lost bool) *wire {
	return b.wire(&wire{at: statement, answered: lost})
}

// wire has the run go through a wire.
func (b *bench) wire(w *wire) *wire {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	w.listener, w.server = listener, b.server.Address
	b.address = listener.Addr().String()
	w.done.Go(w.accept)
	b.Cleanup(w.close)
	return w
}

func (w *wire) close() {
	w.listener.Close()
	w.hangUp()
	w.done.Wait()
}

// hangUp cuts every connection there is; others may come.
func (w *wire) hangUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
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
		answers := make(chan struct{})
		w.done.Go(func() { w.forward(client, server, answers) })
		w.done.Go(func() {
			defer close(answers)
			io.Copy(client, server)
			client.Close()
		})
	}
}

// forward passes on what the client says. answers is closed when no more answers are passed
// back.
func (w *wire) forward(client, server net.Conn, answers <-chan struct{}) {
	defer server.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		here := w.here(buffer[:n])
		if here && w.instead != nil {
			w.instead()
			here = false
		}
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
			<-answers // to nobody: the server is done
			return
		}
	}
}

// here says that this is the statement.
func (w *wire) here(said []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.armed {
		w.armed = w.after == "" || bytes.Contains(said, []byte(w.after))
	}
	if w.cut || !w.armed || !bytes.Contains(said, []byte(w.at)) {
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
