package humanize_test

import (
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
)

// TestDeadline: each state says whether the deadline will be met, and at which limit.
func TestDeadline(t *testing.T) {
	now := time.Date(2026, 11, 25, 23, 0, 0, 0, time.Local)
	by, d := now.Add(7*time.Hour), time.Minute
	for want, e := range map[string]event.Deadline{
		"": {},
		"deadline 06:00: will be met, about 05:20, limit 3%":                                                                       {By: by, State: event.DeadlineMet, Expected: by.Add(-40 * d), Limit: "3%"},
		"deadline 06:00: the run falls behind, its limit rises to 12%; at this pace it ends about 06:25":                           {By: by, State: event.DeadlineBehind, Expected: by.Add(25 * d), Limit: "12%"},
		"deadline 06:00: cannot be met: done about 06:50, 50 min late, at the highest allowed limit (50%)":                         {By: by, State: event.DeadlineImpossible, Expected: by.Add(50 * d), Limit: "50%", Highest: true},
		"deadline 06:00: cannot be met: done about 06:50, 50 min late, even at the highest allowed limit; the limit rises to 7.5%": {By: by, State: event.DeadlineImpossible, Expected: by.Add(50 * d), Limit: "7.5%"},
		"deadline 06:00: not known yet, limit 5%":                                                                                  {By: by, Limit: "5%"},
		"deadline 22:00: it has passed, limit 5%":                                                                                  {By: now.Add(-60 * d), State: event.DeadlineImpossible, Limit: "5%"},
		"deadline 06:00: cannot be met: the copy window does not open until then, limit 5%":                                        {By: by, State: event.DeadlineImpossible, Limit: "5%"},
		"deadline 2026-11-27 06:00: not known yet, limit 5%":                                                                       {By: by.AddDate(0, 0, 1), Limit: "5%"},
	} {
		if got := humanize.Deadline(e, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	elsewhere := time.FixedZone("", 5*3600+1800)
	if got := humanize.Moment(time.Date(2026, 11, 26, 6, 0, 0, 0, elsewhere), now); got != "06:00 +05:30" {
		t.Errorf("a time elsewhere is %q", got)
	}
}
