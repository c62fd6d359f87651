package throttle

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWhyTellsNoSecretOfAURL: a gate's reason is written to histories, reports, logs and pages; a
// URL's secret is not.
func TestWhyTellsNoSecretOfAURL(t *testing.T) {
	s := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not now", http.StatusTooManyRequests) }),
	)
	at := strings.Replace(s.URL, "http://", "http://user:sesame@", 1) + "/sesame/may-i?token=sesame"
	why, err := HTTP(http.DefaultClient, at).Look(t.Context())
	if err != nil || why != s.URL+" answers 429 Too Many Requests not now" {
		t.Errorf("%q, %v", why, err)
	}
	s.Close()
	if why, err = HTTP(
		http.DefaultClient,
		at,
	).Look(
		t.Context(),
	); err == nil || strings.Contains(err.Error(), "sesame") ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("%q, %v", why, err)
	}
}
