package binlog

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// dumps counts the server's dump threads of an account.
func (b *bundle) dumps(user string) (n int) {
	b.t.Helper()
	b.row("SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_command LIKE 'Binlog Dump%' AND processlist_user = '"+user+"'", &n)
	return n
}

// user creates an account of the test's own, so that its threads can be distinguished.
func (b *bundle) user(name, grants string) Server {
	b.t.Helper()
	name = fmt.Sprintf("%s_%d", name, time.Now().UnixNano()%1e9)
	b.exec("CREATE USER " + name + " IDENTIFIED BY 'secret word'")
	b.t.Cleanup(func() { _, _ = b.db.Exec("DROP USER " + name) })
	if grants != "" {
		b.exec("GRANT " + grants + " ON *.* TO " + name)
	}
	return Server{Network: b.server.Network, Address: b.server.Address, User: name, Password: "secret word"}
}

// waitFor waits until check holds.
func waitFor(t testing.TB, limit time.Duration, what string, check func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !check() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", limit, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func ignore(Event) error { return nil }

// TestCancel: when the context ends, Run returns at once, and the server's dump thread is gone
// within a second (two on a busy machine), on every kind of connection.
func TestCancel(t *testing.T) {
	onServers(t, func(t *testing.T, b *bundle) {
		var folder, socket string
		b.row("SELECT @@datadir, @@socket", &folder, &socket)
		if !filepath.IsAbs(socket) {
			socket = filepath.Join(folder, socket)
		}
		server := b.user("cancel", "REPLICATION SLAVE")
		for _, way := range []string{"tcp", "unix", "tls"} {
			s := server
			switch {
			case way == "unix":
				s.Network, s.Address = "unix", socket
			case way == "tls" && !strings.HasPrefix(b.server.Release, "9."):
				continue // no TLS, or no common key exchange
			case way == "tls":
				s.TLS = &tls.Config{InsecureSkipVerify: true}
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			from := b.position()
			go func() { done <- NewReader(s, nil, GTIDs{}).Run(ctx, from, ignore) }()
			waitFor(t, 10*time.Second, "dump thread comes by "+way, func() bool { return b.dumps(s.User) == 1 })
			time.Sleep(50 * time.Millisecond) // it idles
			start := time.Now()
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if took := time.Since(start); took > 50*time.Millisecond {
				t.Errorf("%s: Run returned %s after the cancel", way, took)
			}
			waitFor(t, 2*time.Second, "dump thread goes by "+way, func() bool { return b.dumps(s.User) == 0 })
			t.Logf("%s: dump thread gone after %s", way, time.Since(start).Round(time.Millisecond))
		}
	})
}

// TestCancelWhileDialling: a server that doesn't answer can't delay Run.
func TestCancelWhileDialling(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	err = NewReader(Server{Address: mute.Addr().String()}, nil, GTIDs{}).Run(ctx, Position{"b.1", 4}, ignore)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
}

// TestTwoReaders: two readers with the same server id stay two readers.
func TestTwoReaders(t *testing.T) {
	onServers(t, func(t *testing.T, b *bundle) {
		if b.isMariaDB() {
			t.Skip("MariaDB goes by the server id alone, which is random unless somebody sets it")
		}
		server := b.user("two", "REPLICATION SLAVE")
		server.ServerID = 4242
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 2)
		for range 2 {
			from := b.position()
			go func() { done <- NewReader(server, nil, GTIDs{}).Run(ctx, from, ignore) }()
		}
		waitFor(t, 5*time.Second, "two dump threads", func() bool { return b.dumps(server.User) == 2 })
		select {
		case err := <-done:
			t.Error(err)
		case <-time.After(300 * time.Millisecond):
		}
		cancel()
		<-done
	})
}

func TestHandlerError(t *testing.T) {
	onServers(t, func(t *testing.T, b *bundle) {
		from := b.position()
		b.exec("CREATE TABLE t (id INT PRIMARY KEY)")
		own := errors.New("own")
		if err := b.reader().Run(t.Context(), from, func(Event) error { return own }); err != own {
			t.Errorf("got %v", err)
		}
	})
}

func TestServerErrors(t *testing.T) {
	onServers(t, func(t *testing.T, b *bundle) {
		from := b.position()
		good := b.user("errors", "REPLICATION SLAVE")
		stranger, weak, far := good, b.user("weak", ""), good
		stranger.Password = "wrong"
		far.Address = "127.0.0.1:1"
		gone := Position{File: from.File[:len(from.File)-1] + "x", Offset: 4}
		purged := Position{File: strings.TrimRight(from.File, "0123456789") + "000000", Offset: 4}
		beyond := Position{File: from.File, Offset: from.Offset + 1<<30}
		for _, c := range []struct {
			name   string
			server Server
			from   Position
			is     error
			number uint16
		}{
			{"no such file", good, gone, ErrPurged, 1236},
			{"purged file", good, purged, ErrPurged, 1236},
			{"offset beyond the end", good, beyond, ErrPurged, 1236},
			{"no event at the offset", good, Position{from.File, 5}, ErrPurged, 1236},
			{"wrong password", stranger, from, nil, 1045},
			{"no privilege", weak, from, nil, 1227},
			{"nobody there", far, from, ErrConnection, 0},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			err := NewReader(c.server, nil, GTIDs{}).Run(ctx, c.from, ignore)
			cancel()
			var server *ServerError
			number := uint16(0)
			if errors.As(err, &server) {
				number = server.Number
			}
			if number != c.number || c.is != nil && !errors.Is(err, c.is) || c.is == nil && errors.Is(err, ErrConnection) {
				t.Errorf("%s: %v", c.name, err)
			}
			if strings.Contains(fmt.Sprint(err), "secret word") {
				t.Errorf("%s: password in %v", c.name, err)
			}
		}
	})
}

// TestKilled: a stream that breaks gives ErrConnection, however it breaks.
func TestKilled(t *testing.T) {
	onServers(t, func(t *testing.T, b *bundle) {
		server := b.user("killed", "REPLICATION SLAVE")
		done := make(chan error, 1)
		from := b.position()
		go func() { done <- NewReader(server, nil, GTIDs{}).Run(t.Context(), from, ignore) }()
		waitFor(t, 5*time.Second, "dump thread", func() bool { return b.dumps(server.User) == 1 })
		var id int
		b.row("SELECT processlist_id FROM performance_schema.threads WHERE processlist_user = '"+server.User+"'", &id)
		b.exec(fmt.Sprintf("KILL %d", id))
		if err := <-done; !errors.Is(err, ErrConnection) {
			t.Errorf("killed: %v", err)
		}
	})
}

// TestDeadNetwork: heartbeats keep an idle stream alive, and their absence ends it.
func TestDeadNetwork(t *testing.T) {
	onServers(t, func(t *testing.T, b *bundle) {
		proxy := startProxy(t, b.server.Address)
		server := b.account()
		server.Address = proxy.address()
		reader := NewReader(server, nil, GTIDs{})
		reader.silence = 1500 * time.Millisecond
		done := make(chan error, 1)
		from := b.position()
		go func() { done <- reader.Run(t.Context(), from, ignore) }()
		select {
		case err := <-done:
			t.Fatalf("an idle stream ended: %v", err)
		case <-time.After(2500 * time.Millisecond):
		}
		proxy.hold()
		start := time.Now()
		if err := <-done; !errors.Is(err, ErrConnection) {
			t.Errorf("dead network: %v", err)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("noticed after %s", took)
		}
	})
}

// proxy passes on what the two sides send, until it holds back what comes from the server.
type proxy struct {
	listener net.Listener
	mu       sync.Mutex
	held     bool
}

func startProxy(t *testing.T, target string) *proxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener}
	var open sync.WaitGroup
	t.Cleanup(func() { listener.Close(); open.Wait() })
	open.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				in.Close()
				return
			}
			open.Go(func() { defer out.Close(); _, _ = io.Copy(out, in) })
			open.Go(func() { defer in.Close(); _, _ = io.Copy(gate{p, in}, out) })
		}
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = true
}

// gate discards what a held proxy would pass on.
type gate struct {
	*proxy
	io.Writer
}

func (g gate) Write(data []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held {
		return len(data), nil
	}
	return g.Writer.Write(data)
}

func TestPasswordDoesNotPrint(t *testing.T) {
	s := Server{Address: "h:1", User: "u", Password: "secret", TLS: &tls.Config{}}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "server", s)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "server", s)
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	nested := struct{ Server Server }{s}
	all := fmt.Sprint(s, &s, log.String(), string(encoded)) + fmt.Sprintf("%+v %#v %v %q %+v %#v", s, s, s, s, nested, nested)
	if strings.Contains(all, "secret") || !strings.Contains(all, "u@tcp(h:1)") {
		t.Error(all)
	}
}
