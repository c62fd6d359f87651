package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"midstream/internal/ops/socket"
)

// heard records an answer of the API.
type heard struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (h *heard) Header() http.Header            { return h.header }
func (h *heard) Write(text []byte) (int, error) { return h.body.Write(text) }
func (h *heard) WriteHeader(status int)         { h.status = status }

// ask sends a GET request to the API. It fails with a *socket.Problem if the API refuses.
func (s *Server) ask(ctx context.Context, path string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://midstream"+path, nil)
	if err != nil {
		return fmt.Errorf("ask for %s: %w", path, err)
	}
	h := &heard{header: http.Header{}, status: http.StatusOK}
	s.source.API.ServeHTTP(h, request)
	if h.status/100 != 2 {
		problem := &socket.Problem{}
		if err := json.Unmarshal(h.body.Bytes(), problem); err != nil || problem.Status == 0 {
			return fmt.Errorf("ask for %s: the answer is %d", path, h.status)
		}
		return problem
	}
	if err := json.Unmarshal(h.body.Bytes(), answer); err != nil {
		return fmt.Errorf("read the answer for %s: %w", path, err)
	}
	return nil
}
