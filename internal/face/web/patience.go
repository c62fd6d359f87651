package web

import (
	"io"
	"net/http"
	"slices"
	"time"
)

// patience is how long the other side may not send what it has announced, or not read what it is
// answered: then its connection ends.
const patience = 30 * time.Second

// patient ends the connection of who does not send the body of a request within a time, or does not
// read for as long: nobody who may not even log in holds what others need.
func patient(next http.Handler, patience time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.ContentLength != 0 { // of a request without a body nothing is awaited
			_ = control.SetReadDeadline(time.Now().Add(patience)) // the connections of net/http have it
			r.Body = &sent{r.Body, control}
		}
		next.ServeHTTP(&awaited{w, control, patience}, r)
	})
}

// sent is a body; once it is there, its sender may wait for the answer as long as that takes.
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

// awaited is an answer whose every part is to be read in time.
type awaited struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
}

// Unwrap is for http.ResponseController.
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

// begin gives the reader its time for what comes now.
func (a *awaited) begin() { _ = a.control.SetWriteDeadline(time.Now().Add(a.patience)) }
