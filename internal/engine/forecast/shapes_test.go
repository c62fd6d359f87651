package forecast_test

import (
	"math"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/forecast"
	"midstream/internal/engine/window"
)

// TestForecastOfShapes: the estimate of the complete time for rates that are steady, rise, fall, come
// in bursts, or rest. Each has the error that may remain at parts of the time.
func TestForecastOfShapes(t *testing.T) {
	const hours = 4 * 3600.0 // seconds
	parts := []float64{0.05, 0.25, 0.5, 0.75}
	for name, c := range map[string]struct {
		speed  func(part float64) float64 // by the share of four hours
		held   func(time.Duration) bool
		errors []float64
	}{
		"steady":           {speed: func(float64) float64 { return 1 }, errors: []float64{0.01, 0.01, 0.01, 0.01}},
		"rises by half":    {speed: func(p float64) float64 { return 0.8 + 0.4*p }, errors: []float64{0.25, 0.2, 0.1, 0.05}},
		"falls by a third": {speed: func(p float64) float64 { return 1.2 - 0.4*p }, errors: []float64{0.25, 0.2, 0.1, 0.05}},
		"doubles halfway":  {speed: func(p float64) float64 { return 1 + math.Floor(min(1.5, 2*p)) }, errors: []float64{1, 1, 1, 0.15}},
		"waits now and then": {speed: func(p float64) float64 {
			if math.Mod(p*hours, 100) < 30 { // a gate is closed for 30 of 100 seconds
				return 0
			}
			return 1.4
		}, errors: []float64{0.05, 0.03, 0.03, 0.03}},
		// A pause of an hour costs that hour, and is not a slow rate.
		"is paused": {
			speed: func(float64) float64 { return 1 }, held: func(d time.Duration) bool { return d > time.Hour && d < 2*time.Hour },
			errors: []float64{0.35, 0.3, 0.01, 0.01},
		},
	} {
		r := newRun(1000*hours, 1000*hours, 5*time.Second, func(since time.Duration) float64 {
			return 1000 * c.speed(since.Seconds()/hours)
		})
		if c.held != nil {
			r.held = c.held
		}
		estimates, took := r.forecasts(forecast.NewForecaster(), parts...)
		for i, e := range estimates {
			expected := time.Duration(parts[i]*float64(took)) + e.Left
			if miss := math.Abs(expected.Seconds()/took.Seconds() - 1); miss > c.errors[i] || e.Left < 0 {
				t.Errorf("%s: after %.0f %% it expects %s in all, of %s", name, 100*parts[i], expected, took)
			}
			if e.Least > e.Left || e.Most < e.Left {
				t.Errorf("%s: the range of %s is %s to %s", name, e.Left, e.Least, e.Most)
			}
		}
	}
}

// TestForecastInWindow: the hours in which the window is closed are part of the time left, also
// while it is closed.
func TestForecastInWindow(t *testing.T) {
	hours, err := window.Parse("22:00-06:00 UTC")
	if err != nil {
		t.Fatal(err)
	}
	r := newRun(12*3600*1000, 12*3600*1000, 10*time.Second, func(time.Duration) float64 { return 1000 })
	r.c.Hours = hours
	estimates, took := r.forecasts(forecast.NewForecaster(), 0.1, 0.5, 0.9)
	if took != 28*time.Hour {
		t.Fatalf("it took %s", took)
	}
	for i, part := range []float64{0.1, 0.5, 0.9} {
		left := time.Duration((1 - part) * float64(took))
		if miss := (estimates[i].Left - left).Abs(); miss > 5*time.Minute {
			t.Errorf("after %.0f %% it expects %s, not %s", 100*part, estimates[i].Left, left)
		}
	}
}

// TestForecastOfOtherWork: the build of indexes and the backlog are part of the time left; while an
// operator has paused the run, nothing is known.
func TestForecastOfOtherWork(t *testing.T) {
	r := newRun(100_000, 100_000, time.Second, func(time.Duration) float64 { return 1000 })
	r.verify, r.s.Verify, r.s.Index, r.s.Backlog, r.s.ApplyRate = 0.25, 0.25, 30*time.Second, 500, 100
	f := forecast.NewForecaster()
	var e forecast.Estimate
	for r.s.RowsCopied < 50_000 {
		r.step()
		e = f.Next(r.s, r.c)
	}
	if want := 50*time.Second + 25*time.Second + 30*time.Second + 5*time.Second; (e.Left - want).Abs() > time.Second {
		t.Errorf("halfway it expects %s, not %s", e.Left, want)
	}
	r.s.Paused = true
	if e := f.Next(r.s, r.c); e != forecast.Unknown() {
		t.Errorf("in a pause it expects %v", e)
	}
}

// TestForecastFollowsADeadline: a run with a deadline takes as long as its deadline's forecast.
func TestForecastFollowsADeadline(t *testing.T) {
	r := newRun(100_000, 100_000, time.Second, func(time.Duration) float64 { return 1000 })
	f := forecast.NewForecaster()
	var e forecast.Estimate
	for range 20 {
		r.step()
		r.s.Deadline.Expected = r.at.Add(40 * time.Second)
		e = f.Next(r.s, r.c)
	}
	if e.Left != 40*time.Second || e.Least > e.Left || e.Most < e.Left || e.Most > time.Minute {
		t.Errorf("it expects %v", e)
	}
}

// TestForecastWhileTheComparisonBegins: the end stays known when the copy is done and the comparison
// begins. Its rate is guessed from the rate of the copy, and is soon that of the comparison itself.
func TestForecastWhileTheComparisonBegins(t *testing.T) {
	r := newRun(100_000, 100_000, 500*time.Millisecond, func(time.Duration) float64 { return 5000 })
	r.verify, r.s.Verify = 0.5, 0.25
	f := forecast.NewForecaster()
	for seen := 0; r.step(); {
		e := f.Next(r.s, r.c)
		if r.s.Phase != event.PhaseVerify {
			continue
		}
		left := 30*time.Second - r.at.Sub(began)
		if seen++; e.Left < 0 || seen > 4 && (e.Left-left).Abs() > left/4+time.Second {
			t.Errorf("with %s left it expects %s", left, e.Left)
		}
	}
}
