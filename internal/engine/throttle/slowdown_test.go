package throttle

import (
	"math"
	"testing"
	"time"
)

func TestSlowdownIsReadAndWritten(t *testing.T) {
	for text, want := range map[string]Slowdown{
		"5%":           {Part: 0.05},
		"20":           {Part: 0.2}, // as it was written before times were taken
		"0.2ms":        {Time: 200 * time.Microsecond},
		"10%,1ms":      {Part: 0.1, Time: time.Millisecond},
		"1ms, 10%":     {Part: 0.1, Time: time.Millisecond},
		"2.5%,150us":   {Part: 0.025, Time: 150 * time.Microsecond},
		"1000%,10s":    {Part: 10, Time: 10 * time.Second},
		"0%,0.001ms":   {Time: time.Microsecond},
		"100%,0.0015s": {Part: 1, Time: 1500 * time.Microsecond},
		"33.333%,33ms": {Part: 0.33333, Time: 33 * time.Millisecond},
	} {
		got, err := ParseSlowdown(text)
		if err != nil || math.Abs(got.Part-want.Part) > 1e-9 || got.Time != want.Time {
			t.Errorf("%q is read as %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := ParseSlowdown(got.String()); err != nil || math.Abs(again.Part-got.Part) > 1e-9 || again.Time != got.Time {
			t.Errorf("%q is written as %q, which is read as %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "%", "0%", "0", "fast", "-1%", "1001%", "11s", "-1ms", "1%,2%", "1ms,2ms", "1%,2ms,3%", "NaN", "Inf%", "5%;1ms", "0.1us"} {
		if got, err := ParseSlowdown(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

// TestSlowdownIsThePartOrTheTime: whichever is more holds, an application that is nearly idle may be
// slowed by more than the part, and one that waits for statements all the time keeps 97 % of them.
func TestSlowdownIsThePartOrTheTime(t *testing.T) {
	both := DefaultSlowdown()
	for _, c := range []struct {
		s                           Slowdown
		alone, hardly, used, factor float64
	}{
		{both, 0.0001, 0, 0.01, 3},   // 0.1 ms may become 0.3 ms
		{both, 0.004, 0, 0.01, 1.05}, // 4 ms: both are the same
		{both, 0.1, 0, 0.01, 1.05},
		{both, 0, 0, 0.01, 1.05}, // not known
		{both, 0.1, 1, 0.01, math.Pow(1.05, lonely)},
		{both, 0.0001, 1, 0.01, 3},
		{both, 0.0001, 0, 0.1, 1.3}, // a tenth of 30 % is 3 %
		{both, 0.0001, 0, 1, 1.03},
		{both, 0.1, 0, 1, 1.03},
		{Slowdown{Part: 0.05}, 0.0001, 0, 0.01, 1.05},
		{Slowdown{Part: 0.5}, 0.0001, 0, 1, 1.3},
		{Slowdown{Part: 0.01}, 0.0001, 0, 1, 1.006},
		{Slowdown{Time: time.Millisecond}, 0.001, 0, 0.01, 2},
		{Slowdown{Time: time.Millisecond}, 0.001, 1, 0.01, 2},
		{Slowdown{Time: time.Millisecond}, 0.001, 0, 0.5, 1.06},
		{Slowdown{Time: time.Millisecond}.Times(3), 0.001, 0, 0.5, 1.18}, // the throughput follows the time
		{both.Times(3), 0.0001, 0, 1, 1.09},
	} {
		if got := math.Exp(c.s.tolerated(c.alone, c.hardly, c.used)); math.Abs(got-c.factor) > 1e-6 {
			t.Errorf("%s: statements of %g s in %g of a session's time (idle: %g) may take %.3f times as long, want %.3f",
				c.s, c.alone, c.used, c.hardly, got, c.factor)
		}
	}
}
