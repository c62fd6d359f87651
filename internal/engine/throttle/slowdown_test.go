package throttle

import (
	"math"
	"testing"
	"time"

	"midstream/internal/engine/plan"
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

// TestSlowdownOnACurve: a limit takes the drive at which a governor would settle. It is bounded by the
// percentage, the time, the throughput and the number of workers, and higher if the application hardly
// uses the server.
func TestSlowdownOnACurve(t *testing.T) {
	const ms = time.Millisecond
	c := plan.Curve{Mean: 2 * ms, Running: 2, Used: 0.01, Points: []plan.Point{
		{Drive: 0.5, Rows: 1000, Slower: 0.1}, {Drive: 1, Rows: 2000, Slower: 0.2}, {Drive: 4, Rows: 5000, Slower: 0.8},
	}}
	const atWork = 3.6 / 3.9
	for name, x := range map[string]struct {
		limit   Slowdown
		running float64
		used    float64
		drive   float64
		rows    float64
	}{
		"the percentage":       {Slowdown{Part: 0.05}, 2, 0.01, math.Log(1.05) / 0.2, 2000 * math.Log(1.05) / 0.2},
		"the greater part":     {Slowdown{Part: 0.05, Time: ms / 10}, 2, 0.01, math.Log(1.05) / 0.2, 2000 * math.Log(1.05) / 0.2},
		"the greater time":     {Slowdown{Part: 0.05, Time: ms / 5}, 2, 0.01, math.Log(1.1) / 0.2, 2000 * math.Log(1.1) / 0.2},
		"the throughput":       {Slowdown{Part: 0.5}, 4, 1, math.Log(1.3) / 0.2, 2000 + 1000*(math.Log(1.3)/0.2-1)},
		"one worker":           {Slowdown{Time: ms / 2}, 2, 0.01, 1, 2000},                          // log(1.25) is 1.1 workers
		"a higher percentage":  {Slowdown{Part: math.Expm1(0.4)}, 2, 0.01, 2, 3000},                 // two workers
		"without a bound":      {Slowdown{Part: 10}, 2, 0.01, 4, 5000},                              // all
		"hardly any statement": {Slowdown{Part: 0.05}, 0.1, 0.01, lonely * math.Log(1.05) / 0.2, 0}, // 3.4 workers
	} {
		c.Running, c.Used = x.running, x.used
		p := x.limit.Within(c)
		if math.Abs(p.Drive-x.drive) > 1e-9 || x.rows > 0 && math.Abs(p.Rows-x.rows*atWork) > 1e-6 {
			t.Errorf("%s: %+v, want a drive of %.3f and %.0f rows/s while it works", name, p, x.drive, x.rows)
		}
	}
	if p := (Slowdown{Part: 1}).Within(plan.Curve{}); p.Rows != 0 {
		t.Errorf("an empty curve has %+v", p)
	}
}
