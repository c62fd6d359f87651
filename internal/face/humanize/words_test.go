package humanize

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
)

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		Count(0): "0", Count(999): "999", Count(1000): "1,000", Count(int64(-1234567)): "-1,234,567",
		Plural(1, "key"): "1 key", Plural(2000, "key"): "2,000 keys",
		Size(999): "999 bytes", Size(1500): "1.5 KB", Size(310_400_000): "310 MB", Size(5e15): "5000 TB",
		Span(4100 * time.Microsecond): "4.1 ms", Span(38 * time.Millisecond): "38 ms", Span(12300 * time.Millisecond): "12.3 s",
		Span(83 * time.Second): "1 min 23 s", Span(3700 * time.Second): "1 h 1 min", Span(-1): "?",
		About(-1): "unknown", About(3400 * time.Millisecond): "3 s", About(33 * time.Second): "35 s", About(100 * time.Second): "1 min 40 s",
		About(20 * time.Minute): "20 min", About(100 * time.Minute): "1 h 40 min",
		About(59 * time.Second): "1 min", About(192 * time.Minute): "3 h 10 min", About(26 * time.Hour): "26 h",
		About(75*time.Hour + time.Minute): "3 days 3 h", About(1000 * time.Hour): "42 days", About(59*time.Minute + 45*time.Second): "1 h",
		Rate(2.54): "2.5", Rate(52_100.7): "52,100", Percent(.414): "41 %",
		OneLine("SELECT\n  1", 20): "SELECT 1", OneLine("SELECT 12345", 8): "SELECT …",
		Wrapped("a bb ccc dddd", 6, "  "):                    "a bb\n  ccc\n  dddd",
		Wrapped(`x --f "n='one  two'" y`, 6, "  "):           "x --f\n  \"n='one  two'\"\n  y",
		Wrapped(`run --f='it'\''s  so' it's a dog's`, 8, ""): "run\n--f='it'\\''s  so'\nit's a\ndog's",
		Wrapped("a 'b c d", 4, ""):                           "a 'b\nc d",
	} {
		if got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}

// TestVerifiedGivesEachReasonOnce: columns that were not compared for the same reason are named together.
func TestVerifiedGivesEachReasonOnce(t *testing.T) {
	got := Verified(event.Verified{Uncompared: []string{"a (it was dropped; as before)", "b (x (y))", "c (it was dropped; as before)", "odd", "odd too", "d (x (y))"}})
	if want := "; not compared: a, c (it was dropped; as before), b, d (x (y)), odd, odd too"; !strings.HasSuffix(got, want) {
		t.Error(got)
	}
}

// TestChangesHasNoZeros: the words have no figure that is zero.
func TestChangesHasNoZeros(t *testing.T) {
	for want, c := range map[string][4]int64{
		"1,775 changes captured, 1,000 applied, 775 of rows not copied yet": {1775, 1000, 775, 0},
		"0 changes captured":                    {},
		"1 change captured, 1 of the same rows": {1, 0, 0, 1},
	} {
		if got := Changes(c[0], c[1], c[2], c[3], ", "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestVerifiedNamesUnfitRows: an undo does not compare rows that do not fit.
func TestVerifiedNamesUnfitRows(t *testing.T) {
	for n, want := range []string{"3 rows compared in 1.0 s, all equal", "all equal except 1 row that does not fit", "all equal except 2 rows that do not fit"} {
		if got := Verified(event.Verified{Rows: 3, Unfit: n, Elapsed: time.Second}); !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestETA: the time left is shown with its range, unless both are the same or the range is of no use.
func TestETA(t *testing.T) {
	const h, m = time.Hour, time.Minute
	for want, p := range map[string]event.Progress{
		"done in 3 h 10 min (2 h 40 min to 4 h 5 min)": {Phase: event.PhaseCopy, ETA: 3*h + 11*m, ETALeast: 2*h + 39*m, ETAMost: 4*h + 4*m},
		"done in 35 s":                  {Phase: event.PhaseVerify, ETA: 35 * time.Second, ETALeast: 34 * time.Second, ETAMost: 36 * time.Second},
		"done in 2 min":                 {Phase: event.PhaseCatchUp, ETA: 2 * m, ETALeast: -1, ETAMost: -1}, // of an earlier version
		"time left unknown":             {Phase: event.PhaseCopy, ETA: -1, ETALeast: -1, ETAMost: -1},
		"all changes applied in 12 min": {Phase: event.PhaseHold, ETA: 12 * m, ETALeast: 12 * m, ETAMost: 12 * m},
		"all changes applied":           {Phase: event.PhaseLock},
		"done in 12 min (uncertain)":    {Phase: event.PhaseCopy, ETA: 12 * m, ETALeast: 25 * time.Second, ETAMost: 5*h + 25*m},
		"done in 1 s":                   {Phase: event.PhaseCatchUp, ETA: time.Second, ETALeast: time.Second / 2, ETAMost: time.Second},
	} {
		if text := ETA(p); text != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
}
