package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestWhoDoesNotAnswerIsTold: a reader learns why a change has not begun, and that a run does not
// answer any more, but not of one that is silent for a moment.
func TestWhoDoesNotAnswerIsTold(t *testing.T) {
	for _, c := range []struct {
		begun  bool
		silent time.Duration
		status int
		body   string
		says   string // "": nothing
	}{
		{false, time.Minute, 200, `{"why":"it waits for change a-1"}`, "event: waiting\ndata: {\"why\":\"It waits for change a-1\"}\n\n"},
		{false, time.Minute, 500, `{}`, ""},
		{true, time.Second, 500, `{}`, ""},
		{true, time.Minute, 500, `{}`, `"state":"no answer","mood":"warn","why":"The run has not answered since`},
		{true, time.Minute, 200, `{"state":"running"}`, `"state":"running"`},
	} {
		s := &Server{source: Source{API: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})}}
		told := httptest.NewRecorder()
		standing := standing{heard: time.Now().Add(-c.silent)}
		err := standing.tell(t.Context(), s, "a", c.begun, nil, &stream{writer: told})
		if got := told.Body.String(); err != nil || (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}
