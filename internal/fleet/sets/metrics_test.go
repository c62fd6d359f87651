package sets_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"midstream/internal/fleet/sets"
)

// TestSetsHaveMetrics: members and waves are counted by their states, and the age of a wait for a person begins with the wait: a restart
// keeps it.
func TestSetsHaveMetrics(t *testing.T) {
	folder, approve := t.TempDir(), map[string]bool{"b": true}
	s, _, end := ofTwoOver(t, folder, approve)
	if _, _, err := s.Submit(t.Context(), sets.SetFile{Text: shop}, by("Ada")); err != nil {
		t.Fatal(err)
	}
	sample := func(name string) string {
		answer := httptest.NewRecorder()
		s.Metrics().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		for line := range strings.Lines(answer.Body.String()) {
			if value, is := strings.CutPrefix(strings.TrimSpace(line), name+" "); is {
				return value
			}
		}
		return ""
	}
	age := func() float64 {
		value, err := strconv.ParseFloat(sample(`midstream_set_wait_seconds{set="note"}`), 64)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	began := time.Now()
	for range 2 {
		for name, want := range map[string]string{
			`midstream_sets{state="proposed"}`: "1", `midstream_sets{state="running"}`: "0",
			`midstream_set_members{set="note",state="planned"}`: "2", `midstream_set_members{set="note",state="ready"}`: "0",
			`midstream_set_waves{set="note",state="waiting"}`: "1", `midstream_set_stopped{set="note"}`: "0",
		} {
			if got := sample(name); got != want {
				t.Errorf("%s is %q instead of %q", name, got, want)
			}
		}
		if passed := time.Since(began).Seconds(); age() < passed {
			t.Errorf("the wait is %v s old after %v s", age(), passed)
		}
		end()
		s, _, end = ofTwoOver(t, folder, approve)
	}
	if _, err := s.Ask(t.Context(), "note", "approve", sets.Ask{}, by("Bert")); err != nil {
		t.Fatal(err)
	}
	if got := sample(`midstream_set_wait_seconds{set="note"}`); got != "" {
		t.Errorf("it was approved, and waits for %s s", got)
	}
	if _, err := s.Ask(t.Context(), "note", "cancel", sets.Ask{}, by("Ada")); err != nil {
		t.Fatal(err)
	}
}
