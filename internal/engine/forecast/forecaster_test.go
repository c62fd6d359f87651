package forecast_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/forecast"
	"midstream/internal/lab/mysqltest"
)

var began = time.Date(2026, 11, 25, 22, 0, 0, 0, time.UTC)

// run is a model of a run: a row copy and a comparison, next to an application.
type run struct {
	at    time.Time
	tick  time.Duration
	speed func(since time.Duration) float64 // rows a second
	held  func(since time.Duration) bool
	s     forecast.Standing
	c     forecast.Calendar
	rows  float64 // that there are
	// verify is the time of a comparison, as a multiple of a copy.
	verify float64
	done   float64
}

// newRun makes a run of so many rows, of which the server estimates told.
func newRun(rows, told float64, tick time.Duration, speed func(time.Duration) float64) *run {
	r := &run{at: began, tick: tick, speed: speed, rows: rows, held: func(time.Duration) bool { return false }}
	r.c.Sensitivity = forecast.Gentle
	r.s.Phase, r.s.RowsTotal = event.PhaseCopy, int64(told)
	return r
}

// step makes a tick of work, and reports whether work is left.
func (r *run) step() bool {
	r.s.Idle = r.held(r.at.Sub(began)) || !r.c.Hours.Open(r.at)
	if !r.s.Idle {
		r.done += r.speed(r.at.Sub(began)) * r.tick.Seconds()
	}
	r.at = r.at.Add(r.tick)
	r.s.At = r.at
	r.s.RowsCopied = int64(min(r.done, r.rows))
	if r.done >= r.rows && r.verify > 0 {
		r.s.Phase, r.s.Verified = event.PhaseVerify, int64(min(r.rows, (r.done-r.rows)/r.verify))
	}
	return r.done < r.rows*(1+r.verify)
}

// forecasts runs to the end, and returns the estimates at parts of its time, and how long it took.
func (r *run) forecasts(f *forecast.Forecaster, parts ...float64) (all []forecast.Estimate, took time.Duration) {
	var seen []forecast.Estimate
	for more := true; more; {
		more = r.step()
		seen = append(seen, f.Next(r.s, r.c))
	}
	for _, part := range parts {
		all = append(all, seen[int(part*float64(len(seen)))])
	}
	return all, r.at.Sub(began)
}

// wandering is the speed next to an application whose load has a mean, and wanders around it within
// some minutes or an hour.
func wandering(random *rand.Rand, load, idle float64, tick, lasts time.Duration) func(time.Duration) float64 {
	spread, remember := (0.05+0.15*random.Float64())*load, math.Exp(-tick.Minutes()/(1+30*random.Float64()))
	wave, phase := 0.15*load*random.Float64(), 2*math.Pi*random.Float64()
	noise := 0.05 + 0.2*random.Float64()
	x := random.NormFloat64()
	at, rates := 0, []float64{}
	return func(since time.Duration) float64 {
		for ; at <= int(since/tick); at++ {
			x = remember*x + math.Sqrt(1-remember*remember)*random.NormFloat64()
			u := min(1, max(0, load+spread*x+wave*math.Sin(phase+since.Hours()*math.Pi/12)))
			rates = append(rates, idle/(1+10*u)*math.Exp(noise*random.NormFloat64()))
		}
		return rates[int(since/tick)]
	}
}

// TestForecastHolds: at idle, 20 %, 40 % and 80 % of the peak, the forecast of the elapsed time is
// within 25 % in 90 of 100 cases, and the range has the end in 80 of them or more.
func TestForecastHolds(t *testing.T) {
	mysqltest.Seldom(t)
	parts := []float64{0.1, 0.25, 0.5, 0.75, 0.9}
	for _, load := range []float64{0, 0.2, 0.4, 0.8} {
		t.Run(fmt.Sprintf("%.0f %%", 100*load), func(t *testing.T) {
			t.Parallel()
			var near, inside, below, all int
			var wide float64
			at := make([][2]int, len(parts))
			const runs = 60
			for seed := range uint64(runs) {
				random := rand.New(rand.NewPCG(seed, 23))
				lasts := time.Duration(20 * math.Pow(1800, random.Float64()) * float64(time.Second)) // to 10 h
				tick := max(500*time.Millisecond, lasts/2000)
				idle := 50_000.0
				rows := idle / (1 + 10*load) * lasts.Seconds() / 1.24
				r := newRun(rows, rows*math.Exp(0.02*random.NormFloat64()), tick, wandering(random, load, idle, tick, lasts))
				r.s.Verify = 0.24
				r.verify = 0.24 * math.Exp(0.2*random.NormFloat64())
				estimates, took := r.forecasts(forecast.NewForecaster(), parts...)
				for i, e := range estimates {
					passed := time.Duration(float64(took) * parts[i])
					left := took - passed
					if all++; math.Abs((passed+e.Left).Seconds()/took.Seconds()-1) <= 0.25 {
						near++
					}
					switch {
					case left < e.Least:
						below++
					case left <= e.Most:
						inside++
						at[i][0]++
					}
					at[i][1]++
					wide += float64(e.Most-e.Least) / float64(max(1, e.Left))
				}
			}
			t.Logf("within 25 %% in %d of %d; the range holds %d (ended earlier %d, later %d), its width is %.0f %% of the time left; by part %v",
				near, all, inside, below, all-inside-below, 100*wide/float64(all), at)
			if near < all*9/10 || inside < all*8/10 {
				t.Errorf("within 25 %% in %d of %d; the range holds %d", near, all, inside)
			}
		})
	}
}
