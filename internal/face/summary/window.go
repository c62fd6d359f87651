package summary

import (
	"fmt"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/engine/window"
)

// ending is when a change that takes so long would end, if it begins at now. A row copy rests while
// the window is closed. The server does not interrupt a statement that it has begun.
func ending(c plan.Choice, hours window.Window, now time.Time, work time.Duration) time.Time {
	switch {
	case c.Method == plan.MethodShadow:
		return hours.End(now, work)
	case hours.Open(now):
		return now.Add(work)
	}
	return hours.Next(now).Add(work)
}

// inWindow says when rows are copied, and when the run would end; "" if no window matters.
func inWindow(p Planned, d plan.Prediction) string {
	throttle, now := p.Settings.Throttle, p.now()
	hours := throttle.CopyWindow
	if hours.IsZero() || d.Rows == 0 {
		return ""
	}
	clock := func(work time.Duration) string { return hours.Clock(now, ending(p.Choice, hours, now, work)) }
	end := "a run that begins now would end about " + clock(d.Elapsed)
	if least, most := clock(d.Least), clock(d.Most); least != most {
		end += fmt.Sprintf(" (%s to %s)", least, most)
	}
	if p.Choice.Method == plan.MethodShadow {
		return fmt.Sprintf("rows are copied only %s, and changes are applied at any time; %s", hours, end)
	}
	if cutover := p.Settings.When.Window; !hours.Meets(cutover, now) {
		return fmt.Sprintf("the server never begins, because the copy window %s and the cut-over window %s have no time in common; "+
			"use --method=shadow, which needs none", hours, cutover)
	}
	return fmt.Sprintf("the server begins in the window %s, and its statement then runs to its end; %s", hours, end)
}
