package web

import (
	"io"
	"net/http"
	"slices"
	"time"
)

// patience is how long the server waits for the client to send its body or to read an answer.
const patience = 30 * time.Second

// patient closes the connection of a client that does not send its body or read its answer in time.
// So a client that is not logged in cannot hold connections that others need.
func patient(next http.Handler, patience time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.ContentLength != 0 {
			_ = control.SetReadDeadline(time.Now().Add(patience)) // net/http supports it
			r.Body = &sent{r.Body, control}
		}
		next.ServeHTTP(&awaited{w, control, patience}, r)
	})
}

// sent is the body of a request. Once it is read, the client may wait for the answer without a limit.
type sent struct {
	io.ReadCloser
	control *http.ResponseController
}

func (s *sent) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err == io.EOF {
		_ = s.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// awaited is an answer. The client must read each part of it in time.
type awaited struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
}

// Unwrap returns the original writer, for http.ResponseController.
func (a *awaited) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *awaited) WriteHeader(status int) {
	a.begin()
	a.ResponseWriter.WriteHeader(status)
}

func (a *awaited) Write(p []byte) (int, error) {
	written := 0
	for part := range slices.Chunk(p, 1<<16) {
		a.begin()
		n, err := a.ResponseWriter.Write(part)
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

// begin sets the deadline of the next part.
func (a *awaited) begin() { _ = a.control.SetWriteDeadline(time.Now().Add(a.patience)) }
