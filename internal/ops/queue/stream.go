package queue

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"midstream/internal/mysql/escape"
	"midstream/internal/ops/audit"
)

const (
	// streamPage bounds the entries of one read.
	streamPage = 500
	// streamBeat is the longest silence of a stream.
	streamBeat = 10 * time.Second
)

// Stream sends a reader the entries of the journal after a number, and then each new one: server-sent events, or lines of JSON if the
// request accepts application/x-ndjson. The number is in Last-Event-ID or after; without one, the stream begins now. A reader misses
// nothing, even if the service was away: the numbers and the entries are in the store.
func (s *Service) Stream() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lines := strings.Contains(r.Header.Get("Accept"), "application/x-ndjson")
		at := audit.Number(r.Header.Get("Last-Event-ID"))
		if text := r.URL.Query().Get("after"); at == 0 && text != "" { // 0 is the beginning
			at = audit.Number(text)
		} else if at == 0 {
			s.journal.mu.Lock()
			at = s.journal.last
			s.journal.mu.Unlock()
		}
		w.Header().Set("Content-Type", map[bool]string{true: "application/x-ndjson", false: "text/event-stream"}[lines])
		control := http.NewResponseController(w)
		if !lines {
			fmt.Fprint(w, "retry: 2000\n\n")
		}
		beat := time.NewTicker(streamBeat)
		defer beat.Stop()
		for {
			fresh := s.journal.after() // before the read
			entries, err := s.entries(r.Context(), Span{Low: audit.Key(at + 1), High: audit.High, Most: streamPage})
			for _, e := range entries {
				text, _ := json.Marshal(e) // texts and numbers
				form := "id: %d\ndata: %s\n\n"
				if lines {
					form = "%[2]s\n"
				}
				if _, err := fmt.Fprintf(w, form, e.ID, escape.Text(string(text))); err != nil {
					return
				}
				at = e.ID
			}
			if err != nil || control.Flush() != nil { // the reader comes back, with its number
				return
			}
			if len(entries) == streamPage {
				continue
			}
			select {
			case <-r.Context().Done():
				return
			case <-fresh:
			case <-beat.C:
				word := ": \n\n"
				if lines {
					word = "\n"
				}
				if _, err := fmt.Fprint(w, word); err != nil {
					return
				}
			}
		}
	})
}
