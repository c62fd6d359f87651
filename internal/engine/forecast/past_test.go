package forecast_test

import (
	"math"
	"testing"
	"time"

	"midstream/internal/engine/forecast"
)

// TestSeen: the load of each hour comes from the statements of the application, and from how much
// slower earlier runs were in busy hours. Runs on tables of different rates count alike.
func TestSeen(t *testing.T) {
	statements := func(hour int) float64 { return 200 + 1800*math.Pow(math.Sin(float64(hour)*math.Pi/24), 2) }
	for _, busiest := range []float64{0.2, 0.5, 0.9} {
		var past []forecast.Past
		for run, idle := range []float64{10_000, 400} {
			for hour := 6 * run; hour < 20; hour++ { // the second one from 6 on
				load := busiest * statements(hour) / 2000
				rate := idle / (1 + forecast.Gentle*load)
				past = append(past, forecast.Past{Run: run, Hour: hour, Over: time.Hour, Rows: 3600 * rate, Statements: statements(hour)})
			}
		}
		p := forecast.Seen(past)
		if p.IsZero() || p.String() != "earlier runs, which saw 20 hours of the day" {
			t.Fatalf("%s", p)
		}
		at := func(hour int) float64 { return p.Load(time.Date(2026, 11, 25, hour, 30, 0, 0, time.Local)) }
		for _, hour := range []int{0, 6, 12, 19} {
			if want := busiest * statements(hour) / 2000; math.Abs(at(hour)/want-1) > 0.2 {
				t.Errorf("hour %d has a load of %.2f, want %.2f", hour, at(hour), want)
			}
		}
		if at(21) >= at(19) || at(21) <= at(0) {
			t.Errorf("hour 21, which no run saw, has %.2f; hour 19 has %.2f and hour 0 %.2f", at(21), at(19), at(0))
		}
	}
}

// TestTooLittleSeen: a few hours, short looks, or runs without an application make no profile.
func TestTooLittleSeen(t *testing.T) {
	day := func(hours int, over time.Duration, statements float64) (past []forecast.Past) {
		for hour := range hours {
			past = append(past, forecast.Past{Hour: hour, Over: over, Rows: 1000, Statements: statements})
		}
		return past
	}
	for name, past := range map[string][]forecast.Past{
		"nothing": nil, "a few hours": day(11, time.Hour, 100), "a minute of each": day(24, time.Minute, 100), "no application": day(24, time.Hour, 0),
	} {
		if p := forecast.Seen(past); !p.IsZero() {
			t.Errorf("%s makes a profile: %s", name, p)
		}
	}
	if forecast.Seen(day(12, time.Hour, 100)).IsZero() {
		t.Error("twelve hours are too few")
	}
}
