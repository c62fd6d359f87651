package web

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// served serves a handler to at most so many connections.
func served(t *testing.T, most int, handler http.Handler) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	crowd := newCrowd(listener, most)
	server := &http.Server{Handler: handler, ConnState: crowd.state, ReadHeaderTimeout: time.Minute}
	ended := make(chan error)
	go func() { ended <- server.Serve(crowd) }()
	t.Cleanup(func() {
		server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// exchange sends a request and reads the first line of the answer.
func exchange(t *testing.T, conn net.Conn) string {
	t.Helper()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 1<<10)
	n, err := conn.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text[:n]), "\r\n")
	return line
}

// ended waits until the other side has closed a connection.
func ended(conn net.Conn) error {
	_, err := conn.Read(make([]byte, 1))
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return errors.Join(errors.New("it is open"), err)
}

// TestConnectionsAreBounded: silent connections make room for new ones. The one that has been
// silent longest is closed first, with or without an earlier request.
func TestConnectionsAreBounded(t *testing.T) {
	address := served(t, 3, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	first := dial(t, address)
	if line := exchange(t, first); line != "HTTP/1.1 204 No Content" {
		t.Fatal(line)
	}
	var silent []net.Conn
	for range 6 {
		silent = append(silent, dial(t, address))
	}
	for i, conn := range append([]net.Conn{first}, silent[:3]...) {
		if err := ended(conn); err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	for _, conn := range silent[3:] {
		if line := exchange(t, conn); line != "HTTP/1.1 204 No Content" {
			t.Error(line)
		}
	}
}

// TestANewConnectionWaitsForRoom: if all connections are at work, none of them is closed.
func TestANewConnectionWaitsForRoom(t *testing.T) {
	at, goOn := make(chan struct{}), make(chan struct{})
	address := served(t, 1, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at <- struct{}{}
		<-goOn
		w.WriteHeader(http.StatusNoContent)
	}))
	answers := make(chan string, 2)
	for range 2 {
		conn := dial(t, address)
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		go func() {
			text := make([]byte, 1<<10)
			n, _ := conn.Read(text)
			line, _, _ := strings.Cut(string(text[:n]), "\r\n")
			answers <- line
		}()
	}
	<-at
	goOn <- struct{}{}
	<-at // the other one
	goOn <- struct{}{}
	for range 2 {
		if line := <-answers; line != "HTTP/1.1 204 No Content" {
			t.Error(line)
		}
	}
}

// scarce is a listener whose first connections fail.
type scarce struct {
	net.Listener
	errors []error
}

func (s *scarce) Accept() (net.Conn, error) {
	if len(s.errors) > 0 {
		err := s.errors[0]
		s.errors = s.errors[1:]
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
	}
	return s.Listener.Accept()
}

// TestAShortageEndsNoService: after a shortage of files, buffers or memory, connections are accepted again.
func TestAShortageEndsNoService(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	crowd := newCrowd(&scarce{listener, []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}}, 10)
	server := httptest.NewUnstartedServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
	)
	server.Listener.Close()
	server.Listener = crowd
	server.Config.ConnState = crowd.state
	server.Start()
	defer server.Close()
	if line := exchange(t, dial(t, listener.Addr().String())); line != "HTTP/1.1 204 No Content" {
		t.Error(line)
	}
}

// TestReadersAndRequestsAreBounded: if all turns are taken, a reader gets 503 and Retry-After.
func TestReadersAndRequestsAreBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("a-token-of-the-test-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Door{Listen: "127.0.0.1:0", TokenFile: file}.Open((&Runs{}).Source(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range cap(s.streams) {
		s.streams <- struct{}{}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/v1/changes/run/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer a-token-of-the-test-0123456789")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" ||
		!strings.Contains(string(text), "too many readers follow runs at once") {
		t.Errorf("%s %s, %v", response.Status, text, err)
	}
	if cap(s.streams) > mostStreams || cap(s.work) > mostRequests {
		t.Errorf("%d streams and %d requests", cap(s.streams), cap(s.work))
	}
}
