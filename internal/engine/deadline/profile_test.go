package deadline_test

import (
	"math"
	"testing"
	"time"

	"midstream/internal/engine/deadline"
	"midstream/internal/engine/forecast"
)

// TestCourseKnowsTheNight: with a profile, a run that begins in the busy afternoon keeps its gentle
// limit, because the night is fast enough. Without one, it takes the afternoon's rate for all of the
// time, and is harsh until the evening.
func TestCourseKnowsTheNight(t *testing.T) {
	loads, err := forecast.ParseProfile("zone,UTC\n0-23,5\n8-19,70\n")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2026, 11, 25, 15, 0, 0, 0, time.UTC)
	by := from.Add(14 * time.Hour)
	calendar := forecast.Calendar{Loads: loads, Sensitivity: 10}
	work := 1000 * 0.93 * calendar.Within(from, by).Seconds() // in 93 % of the time at a factor of 1
	drive := func(aim deadline.Aim) (ended time.Time, highest float64) {
		c, done := deadline.NewCourse(1), 0.0
		for at := from; ; at = at.Add(time.Minute) {
			if done >= work || at.Sub(from) > 48*time.Hour {
				return at, highest
			}
			v := c.Next(deadline.Look{At: at, Done: done, Left: work - done}, aim)
			factor := v.Factor
			if factor > highest {
				highest = factor
			}
			done += 60 * 1000 * math.Pow(factor, 0.85) / (1 + 10*loads.Load(at))
		}
	}
	aim := deadline.Aim{By: by, Least: deadline.Gentlest, Most: 10}
	if ended, highest := drive(aim); highest < 2 {
		t.Errorf("without a profile, it ended at %s, with a factor of at most %.2f", ended, highest)
	}
	aim.Loads, aim.Sensitivity = loads, 10
	if ended, highest := drive(aim); ended.After(by) || highest > 1.25 {
		t.Errorf("with a profile, it ended at %s, with a factor of at most %.2f", ended, highest)
	}
}
