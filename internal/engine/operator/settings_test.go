package operator_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"midstream/internal/engine/operator"
)

// A config has a setting after the setting was given its own text, and stays unchanged if the text
// is invalid.
func TestSettings(t *testing.T) {
	profile := filepath.Join(t.TempDir(), "load.csv")
	if err := os.WriteFile(profile, []byte("hour,load\n0-23,40\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	others := map[string]string{
		"profile":     profile,
		"duration":    "700ms",
		"number":      "33",
		"percent":     "40%",
		"slowdown":    "10%,1ms",
		"number|auto": "33",
		"bool":        "true",
		"limits":      "Threads_running=50,Threads_connected=900",
		"bytes":       "5368709120",
		"path":        "/tmp/there",
		"query":       "SELECT 1",
		"url":         "http://127.0.0.1/",
		"window":      "02:00-04:00",
		"time":        "06:00 Europe/Berlin",
		"maximum":     "40%",
		"pattern":     "report*,app",
	}
	bad := map[string]string{
		"profile":     "/none/such",
		"duration":    "5",
		"number":      "many",
		"percent":     "101%",
		"slowdown":    "some",
		"number|auto": "65",
		"bool":        "perhaps",
		"limits":      "Threads",
		"bytes":       "much",
		"url":         "db2",
		"window":      "2-4",
		"time":        "tomorrow",
		"maximum":     "0%",
		"pattern":     "[",
	}
	usual := operator.CommandLineDefaults()
	for _, s := range operator.AllSettings() {
		cfg := usual
		if err := s.Set(&cfg, s.Get(usual)); err != nil || !reflect.DeepEqual(cfg, usual) {
			t.Errorf("%s: its default %q: %v", s.Name, s.Get(usual), err)
		}
		if err := s.Set(&cfg, others[s.Kind]); err != nil || s.Get(cfg) != others[s.Kind] {
			t.Errorf("%s: %q is %q, %v", s.Name, others[s.Kind], s.Get(cfg), err)
		}
		for _, o := range operator.AllSettings() {
			if o.Name != s.Name && o.Get(cfg) != o.Get(usual) {
				t.Errorf("%s changes %s", s.Name, o.Name)
			}
		}
		if text, is := bad[s.Kind]; is {
			before := cfg
			if err := s.Set(&cfg, text); err == nil || !reflect.DeepEqual(cfg, before) {
				t.Errorf("%s: %q is taken", s.Name, text)
			}
		}
		if _, known := operator.SettingOf(s.Name); !known {
			t.Errorf("%s is not found", s.Name)
		}
	}
}
