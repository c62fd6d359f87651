package web

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// answering serves a handler to connections of the test's own.
func answering(t *testing.T, patience time.Duration, handler http.HandlerFunc) func(request string) net.Conn {
	t.Helper()
	server := httptest.NewServer(patient(handler, patience))
	t.Cleanup(server.Close)
	return func(request string) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		return conn
	}
}

// The connection of who announces a body and does not send it ends, whether the handler reads it
// (login) or refuses (the door).
func TestBodyThatDoesNotCome(t *testing.T) {
	for _, reads := range []bool{true, false} {
		t.Run(fmt.Sprintf("reads=%v", reads), func(t *testing.T) {
			dial := answering(t, 100*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
				if reads {
					_, _ = io.ReadAll(r.Body)
				}
				w.WriteHeader(http.StatusUnauthorized)
			})
			conn := dial("POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\ntoken=")
			if _, err := io.ReadAll(conn); err != nil {
				t.Errorf("it did not end: %v", err)
			}
		})
	}
}

// Once a body is there, its sender may wait for the answer for longer; and the connection serves
// the next request as well.
func TestAnswerThatTakesTime(t *testing.T) {
	dial := answering(t, 100*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		select {
		case <-r.Context().Done():
		case <-time.After(300 * time.Millisecond):
		}
		fmt.Fprintf(w, "%s %v %v.", body, err, r.Context().Err())
	})
	request := "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n%s\r\nbody"
	got, err := io.ReadAll(dial(fmt.Sprintf(request, "") + fmt.Sprintf(request, "Connection: close\r\n")))
	if n := strings.Count(string(got), "body <nil> <nil>."); n != 2 || err != nil {
		t.Errorf("%d answers, %v:\n%s", n, err, got)
	}
}

// Who does not read its answer is gone after a while, and the handler goes on.
func TestReaderThatDoesNotRead(t *testing.T) {
	ended := make(chan error, 1)
	dial := answering(t, 100*time.Millisecond, func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(make([]byte, 100<<20)) // more than the system keeps for a connection
		ended <- err
	})
	dial("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	select {
	case err := <-ended:
		if err == nil {
			t.Error("all was written")
		}
	case <-time.After(time.Minute):
		t.Error("the handler still waits")
	}
}
