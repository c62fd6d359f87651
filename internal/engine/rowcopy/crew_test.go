package rowcopy

import (
	"testing"
	"time"
)

// TestFullServer: a worker that got no connection is tried again, less and less often, and alone. Once it has
// one, the next worker is tried at once.
func TestFullServer(t *testing.T) {
	now := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	f := full{number: MostWorkers}
	begun := func(after time.Duration) (numbers []int) {
		now = now.Add(after)
		for n := 0; n < 10 && f.allows(n, now); n++ {
			numbers = append(numbers, n)
		}
		return numbers
	}
	if got := len(begun(0)); got != 10 {
		t.Errorf("%d workers of 10 are begun before any is refused", got)
	}
	if !f.refused(5, now) || !f.refused(4, now) || f.refused(4, now) {
		t.Error("a refusal is news once")
	}
	f = full{number: 4, pause: fullPause, until: now.Add(fullPause)}
	for _, c := range []struct {
		after time.Duration
		want  int // workers that may be begun
	}{{fullPause - 1, 4}, {1, 5}, {2*fullPause - 1, 4}, {1, 5}, {4*fullPause - 1, 4}} {
		got := len(begun(c.after))
		if got != c.want {
			t.Errorf("after %s more, %d workers are begun, want %d", c.after, got, c.want)
		}
		if got > 4 {
			f.refused(4, now)
		}
	}
	for range 20 {
		f.refused(4, now)
	}
	if got := len(begun(fullPauseLong)); got != 5 {
		t.Errorf("after the longest pause, %d workers are begun, want 5", got)
	}
	for number := 4; number < 9; number++ {
		f.connected(number)
		if got := len(begun(0)); got != number+2 {
			t.Errorf("worker %d is connected, and %d are begun, want %d", number, got, number+2)
		}
	}
}
