package retention

import (
	"testing"
	"time"
)

func TestParseKeep(t *testing.T) {
	for text, want := range map[string]time.Duration{"7d": 7 * 24 * time.Hour, "36h": 36 * time.Hour, "0s": 0, "0d": 0} {
		if got, err := ParseKeep(text); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "-1d", "7", "9999d", "-2h", "1w"} {
		if got, err := ParseKeep(text); err == nil {
			t.Errorf("%s was taken for %s", text, got)
		}
	}
}
