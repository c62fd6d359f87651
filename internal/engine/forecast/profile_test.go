package forecast_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/forecast"
	"midstream/internal/engine/window"
	"midstream/internal/lab/mysqltest"
)

func profile(t *testing.T, text string) forecast.Profile {
	t.Helper()
	p, err := forecast.ParseProfile(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return p
}

// TestProfile: a profile has the load of each hour in its zone. 2026-11-25 is a Wednesday.
func TestProfile(t *testing.T) {
	const text = "# of the shop\nhour,load\nzone,Europe/Berlin\n0-23,10\nMon-Fri 8-17, 60%\nSat,Sun 0-23,5\nWed 12,99.5\n"
	for at, load := range map[string]float64{
		"2026-11-25T06:59:59Z": 0.1, "2026-11-25T07:00:00Z": 0.6, "2026-11-25T11:30:00Z": 0.995, "2026-11-25T17:00:00Z": 0.1,
		"2026-11-28T12:00:00Z": 0.05, "2026-11-27T23:30:00Z": 0.05, // Saturday in Berlin
		// The clocks skip 2:00 to 3:00, and show 2:00 to 3:00 twice.
		"2026-03-29T01:00:00Z": 0.05, "2026-10-25T00:30:00Z": 0.05, "2026-10-25T01:30:00Z": 0.05,
	} {
		moment, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := profile(t, text).Load(moment); got != load {
			t.Errorf("at %s the load is %g, want %g", at, got, load)
		}
	}
	if !(forecast.Profile{}).IsZero() || (forecast.Profile{}).Load(began) != 0 {
		t.Error("no profile has a load")
	}
}

// TestBadProfiles: an error names the line and shows how it is written, and not what is in it.
func TestBadProfiles(t *testing.T) {
	for text, says := range map[string]string{
		"":                             "no line has the load of Sunday, hour 0",
		"0-22,10":                      "no line has the load of Sunday, hour 23",
		"Mon-Sat 0-23,10":              "no line has the load of Sunday, hour 0",
		"0-23,10\nsecret":              "line 2 must be HOURS,LOAD",
		"0-23,secret":                  "line 1 has a load that is not between 0 and 100",
		"0-23,101":                     "line 1 has a load that is not between 0 and 100",
		"0-23,NaN":                     "line 1 has a load that is not between 0 and 100",
		"0-24,10":                      "line 1 has hours that are not between 0 and 23",
		"22-6,10":                      "line 1 has hours that are not between 0 and 23",
		"secret 0-23,10":               "line 1 has an unknown day",
		"Mon Tue 0-23,10":              "line 1 must be HOURS,LOAD",
		"zone,secret\n0-23,10":         "line 1 has an unknown time zone",
		"0-23,10\nhour,load":           "line 2 has a load",
		"\n\nroot:x:0:0:secret,,,\n\n": "line 3 has a load",
	} {
		_, err := forecast.ParseProfile(text)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
	folder := t.TempDir()
	large, good := filepath.Join(folder, "large"), filepath.Join(folder, "good")
	for path, text := range map[string]string{large: strings.Repeat("0-23,10\n", 10_000), good: "0-23,10\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, says := range map[string]string{
		folder: "must be a file", "/dev/zero": "must be a file", large: "is longer than", filepath.Join(folder, "none"): "no such file",
	} {
		if _, err := forecast.ReadProfile(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", path, err, says)
		}
	}
	if p, err := forecast.ReadProfile(good); err != nil || p.String() != good {
		t.Errorf("%v: %v", p, err)
	}
}

// TestCalendar: work takes longer in hours with a load, rests while the window is closed, and both
// directions of the calculation agree.
func TestCalendar(t *testing.T) {
	hours, err := window.Parse("20:00-08:00 UTC")
	if err != nil {
		t.Fatal(err)
	}
	day := profile(t, "zone,UTC\n0-23,0\n8-21,50\n")
	slow := forecast.Calendar{Loads: day, Sensitivity: 10} // six times as long from 8 to 22
	both := forecast.Calendar{Loads: day, Sensitivity: 10, Hours: hours}
	at := func(hour int, minutes int) time.Time { return time.Date(2026, 11, 25, hour, minutes, 0, 0, time.UTC) }
	for _, c := range []struct {
		calendar forecast.Calendar
		from     time.Time
		work     time.Duration
		want     time.Time
	}{
		{slow, at(22, 0), 3 * time.Hour, at(25, 0)},
		{slow, at(10, 0), time.Hour, at(16, 0)},
		{slow, at(21, 30), time.Hour, at(22, 55)},
		{slow, at(7, 30), time.Hour, at(11, 0)},
		{slow, at(22, 0), (10*60 + 140) * 9 * time.Minute, at(22+9*24, 0)}, // of nine days
		{both, at(10, 0), time.Hour, at(22, 40)},
		{both, at(22, 0), 11 * time.Hour, at(22+24, 40)},
		{slow, at(22, 0), 0, at(22, 0)},
	} {
		end := c.calendar.End(c.from, c.work)
		if (end.Sub(c.want)).Abs() > time.Second {
			t.Errorf("%s of work from %s ends at %s, want %s", c.work, c.from, end, c.want)
		}
		if within := c.calendar.Within(c.from, end); (within - c.work).Abs() > time.Second {
			t.Errorf("from %s to %s is %s of work, want %s", c.from, end, within, c.work)
		}
	}
	if end := slow.End(at(0, 0), 400*24*time.Hour); slow.Within(at(0, 0), end)-400*24*time.Hour > 48*time.Hour {
		t.Errorf("400 days of work end at %s", end)
	}
	never, err := window.Parse("Mon 10:00-10:01 UTC")
	if err != nil {
		t.Fatal(err)
	}
	if end := (forecast.Calendar{Loads: day, Sensitivity: 10, Hours: never}).End(at(0, 0), 1<<62); end.Before(at(0, 0).AddDate(30, 0, 0)) {
		t.Errorf("work without end: %s", end)
	}
}

// TestForecastWithProfile: a run whose speed follows a daily load knows when it ends, if the load
// slows it as guessed. If it does not, the run learns how much from the hours that it sees.
func TestForecastWithProfile(t *testing.T) {
	mysqltest.Seldom(t)
	loads := profile(t, "zone,UTC\n0-5,5\n6,15\n7,40\n8-17,70\n18-20,50\n21-23,20\n")
	for _, sensitivity := range []float64{10, 4, 20} {
		t.Run(fmt.Sprint(sensitivity), func(t *testing.T) {
			const runs = 20
			parts := []float64{0.05, 0.25, 0.5, 0.75}
			near, without := make([]int, len(parts)), make([]int, len(parts))
			for seed := range uint64(runs) {
				random := rand.New(rand.NewPCG(seed, 24))
				from := time.Duration(24*random.Float64()*3600) * time.Second
				speed := func(since time.Duration) float64 {
					return 1000 / (1 + sensitivity*loads.Load(began.Add(from+since))) * math.Exp(0.15*random.NormFloat64())
				}
				rows := 1000.0 * 3600 * (2 + 4*random.Float64())
				for _, known := range []bool{true, false} {
					r := newRun(rows, rows, 2*time.Minute, speed)
					r.at = began.Add(from)
					if known {
						r.c.Loads = loads
					}
					r.speed = func(since time.Duration) float64 { return speed(since - from) }
					estimates, took := r.forecasts(forecast.NewForecaster(), parts...)
					took -= from
					for i, e := range estimates {
						if math.Abs((parts[i]*took.Seconds()+e.Left.Seconds())/took.Seconds()-1) > 0.25 || e.Left < 0 {
							continue
						}
						if known {
							near[i]++
						} else {
							without[i]++
						}
					}
				}
			}
			t.Logf("within 25 %% at %v of the time: %v of %d with the profile, %v without", parts, near, runs, without)
			if least := runs * 9 / 10; near[3] < least || sensitivity <= 10 && near[2] < least || sensitivity == 10 && near[0] < least {
				t.Errorf("within 25 %%: %v of %d", near, runs)
			}
		})
	}
}
