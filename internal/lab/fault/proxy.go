// Package fault puts a faulty wire between a program and its MySQL server: it cuts off, delays or
// refuses one chosen command, or loses its answer. All else is the real server's.
//
// It reads the frames of the client/server protocol (three bytes of length, one of sequence,
// which is 0 in a command: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html)
// without TLS and compression.
package fault

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Rule says which command is bent, and how. It holds for one command, except Far.
type Rule struct {
	After string // a text that some command has before; "" for none
	At    string // a text in the command
	Nth   int    // or its number since After, from 1, among those that the server answers

	Call  func()        // is called before the command goes on to the server
	Delay time.Duration // holds it up
	Cut   bool          // cuts the connection before the server gets it
	Deaf  bool          // cuts the connection when the server is done with it: the answer is lost
	Error uint16        // answers with this error, and the server gets nothing
	Far   time.Duration // holds up each command for that time, as a server does that is far away
	Stall time.Duration // the whole wire stands still once the server has it; what came meanwhile is then passed on at once

	// Seen takes each command that the server will answer, and the number of its connection.
	Seen func(connection int, command []byte)
}

// Proxy stands in front of one server. It is closed when its test ends.
type Proxy struct {
	Address string // host:port

	listener net.Listener
	rule     Rule
	done     sync.WaitGroup

	mu     sync.Mutex
	server string
	armed  bool
	count  int
	bent   bool
	said   string
	still  time.Time // until when the wire stands still
	conns  []net.Conn
	// accepted counts connections.
	accepted int
}

// New starts a proxy in front of a server's TCP address.
func New(t testing.TB, server string, rule Rule) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Address: listener.Addr().String(), listener: listener, server: server, rule: rule, armed: rule.After == ""}
	p.done.Go(p.accept)
	t.Cleanup(p.Close)
	return p
}

// Close cuts all connections and takes no more.
func (p *Proxy) Close() {
	p.listener.Close()
	p.HangUp()
	p.done.Wait()
}

// LeadTo has the connections that come lead to another server, and cuts those there are.
func (p *Proxy) LeadTo(server string) {
	p.mu.Lock()
	p.server = server
	p.mu.Unlock()
	p.HangUp()
}

// HangUp cuts every connection there is; others may come.
func (p *Proxy) HangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// Bent returns the beginning of the command that was bent, and whether there was one.
func (p *Proxy) Bent() (said string, bent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said, p.bent
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		address := p.server
		p.mu.Unlock()
		server, err := net.Dial("tcp", address)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.accepted++
		number := p.accepted
		p.mu.Unlock()
		answers := make(chan struct{})
		p.done.Go(func() { p.forward(number, client, server, answers) })
		p.done.Go(func() {
			defer close(answers)
			p.answer(client, server)
			client.Close()
		})
	}
}

// forward passes on what the client says. answers is closed when no more answers are passed
// back.
func (p *Proxy) forward(number int, client, server net.Conn, answers <-chan struct{}) {
	defer server.Close()
	var header [4]byte
	for {
		if _, err := io.ReadFull(client, header[:]); err != nil {
			return
		}
		body := make([]byte, int(header[0])|int(header[1])<<8|int(header[2])<<16)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		if p.rule.Seen != nil && header[3] == 0 && !unanswered(body) {
			p.rule.Seen(number, body)
		}
		deaf := false
		if header[3] != 0 || !p.isIt(body) {
			p.standStill()
		} else {
			if !p.bend(client) {
				continue
			}
			if p.rule.Cut {
				client.Close()
				return
			}
			if deaf = p.rule.Deaf; deaf {
				client.Close()
			}
			p.stall()
		}
		time.Sleep(p.rule.Far)
		if _, err := server.Write(append(header[:], body...)); err != nil {
			return
		}
		if deaf {
			<-answers // to nobody: the server is done
			return
		}
	}
}

// stall has the wire stand still from now on, but for the command that is bent.
func (p *Proxy) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.still = time.Now().Add(p.rule.Stall)
}

// standStill waits as long as the wire stands still, and says whether it did.
func (p *Proxy) standStill() bool {
	p.mu.Lock()
	left := time.Until(p.still)
	p.mu.Unlock()
	time.Sleep(left)
	return left > 0
}

// answer passes on what the server says. What came while the wire stood still comes in one piece,
// as from a client's socket.
func (p *Proxy) answer(client, server net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if p.standStill() && err == nil {
			_ = server.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
			more, _ := io.ReadAtLeast(server, buffer[n:], len(buffer)-n)
			_ = server.SetReadDeadline(time.Time{})
			n += more
		}
		if _, failed := client.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

// bend does what comes before the command, and says whether it goes on.
func (p *Proxy) bend(client net.Conn) bool {
	if p.rule.Call != nil {
		p.rule.Call()
	}
	time.Sleep(p.rule.Delay)
	if p.rule.Error == 0 {
		return true
	}
	answer := append([]byte{0xff}, binary.LittleEndian.AppendUint16(nil, p.rule.Error)...)
	answer = append(answer, "#HY000bent"...)
	_, _ = client.Write(append([]byte{byte(len(answer)), 0, 0, 1}, answer...))
	return false
}

// isIt says that this is the command.
func (p *Proxy) isIt(command []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if unanswered(command) {
		return false
	}
	if !p.armed {
		p.armed = bytes.Contains(command, []byte(p.rule.After))
	} else if p.rule.Nth > 0 {
		p.count++
	}
	if p.bent || !p.armed {
		return false
	}
	if p.rule.Nth > 0 && p.count != p.rule.Nth || p.rule.Nth == 0 && (p.rule.At == "" || !bytes.Contains(command, []byte(p.rule.At))) {
		return false
	}
	p.bent, p.said = true, string(command[:min(len(command), 200)])
	return true
}

// unanswered says that the server says nothing to this command (COM_QUIT,
// COM_STMT_SEND_LONG_DATA, COM_STMT_CLOSE): an answer of ours would be taken for the next
// command's.
func unanswered(command []byte) bool {
	return len(command) > 0 && (command[0] == 0x01 || command[0] == 0x18 || command[0] == 0x19)
}
