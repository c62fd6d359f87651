package humanize

import (
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		Count(0): "0", Count(999): "999", Count(1000): "1,000", Count(int64(-1234567)): "-1,234,567",
		Plural(1, "key"): "1 key", Plural(2000, "key"): "2,000 keys",
		Size(999): "999 bytes", Size(1500): "1.5 KB", Size(310_400_000): "310 MB", Size(5e15): "5000 TB",
		Span(4100 * time.Microsecond): "4.1 ms", Span(38 * time.Millisecond): "38 ms", Span(12300 * time.Millisecond): "12.3 s",
		Span(83 * time.Second): "1m23s", Span(3700 * time.Second): "1h01m", Span(-1): "?",
		About(-1): "unknown", About(3400 * time.Millisecond): "3 s", About(33 * time.Second): "35 s", About(100 * time.Second): "1.7 min",
		About(20 * time.Minute): "20 min", About(100 * time.Minute): "1.7 h",
		Rate(2.54): "2.5", Rate(52_100.7): "52,100", Percent(.414): "41 %",
		OneLine("SELECT\n  1", 20): "SELECT 1", OneLine("SELECT 12345", 8): "SELECT …",
		Wrapped("a bb ccc dddd", 6, "  "): "a bb\n  ccc\n  dddd",
	} {
		if got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}
