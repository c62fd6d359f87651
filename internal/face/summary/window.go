package summary

import (
	"fmt"
	"time"

	"midstream/internal/engine/forecast"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/escape"
)

// ending is when a change that takes so long would end, if it begins at now. A row copy rests while
// the window is closed, and its speed follows the load. measured means that the time is that of the
// load of now, and not of an idle server. The server does not interrupt a statement that it has begun.
func ending(c plan.Choice, hours forecast.Calendar, now time.Time, takes time.Duration, measured bool) time.Time {
	switch {
	case c.Method == plan.MethodShadow:
		return hours.End(now, idling(hours, now, takes, measured))
	case hours.Hours.Open(now):
		return now.Add(takes)
	}
	return hours.Hours.Next(now).Add(takes)
}

// idling is the work of a change as a time on an idle server.
func idling(hours forecast.Calendar, now time.Time, takes time.Duration, measured bool) time.Duration {
	if measured {
		return hours.Idling(now, takes)
	}
	return takes
}

// wouldEnd says when a run that begins now would end, with the range.
func wouldEnd(p Planned, d plan.Prediction) string {
	hours, now := p.Settings.Calendar(), p.now()
	clock := func(takes time.Duration) string {
		return hours.Hours.Clock(now, ending(p.Choice, hours, now, takes, d.Measured))
	}
	text := "a run that begins now would end about " + clock(d.Elapsed)
	if least, most := clock(d.Least), clock(d.Most); least != most {
		text += fmt.Sprintf(" (%s to %s)", least, most)
	}
	return text
}

// byLoad says when the run would end by the load of each hour; "" if no profile matters, or the
// window says it.
func byLoad(p Planned, d plan.Prediction) string {
	loads := p.Settings.Calendar().Loads
	if loads.IsZero() || d.Rows == 0 || p.Choice.Method != plan.MethodShadow {
		return ""
	}
	text := "the load of each hour is in " + escape.Line(loads.String())
	if p.Settings.Profile.IsZero() {
		text = "the load of each hour is known from " + loads.String()
	}
	if !p.Settings.Throttle.CopyWindow.IsZero() {
		return text
	}
	return text + "; " + wouldEnd(p, d)
}

// inWindow says when rows are copied, and when the run would end; "" if no window matters.
func inWindow(p Planned, d plan.Prediction) string {
	hours, now := p.Settings.Throttle.CopyWindow, p.now()
	if hours.IsZero() || d.Rows == 0 {
		return ""
	}
	if p.Choice.Method == plan.MethodShadow {
		return fmt.Sprintf("rows are copied only %s, and changes are applied at any time; %s", hours, wouldEnd(p, d))
	}
	if cutover := p.Settings.When.Window; !hours.Meets(cutover, now) {
		return fmt.Sprintf("the server never begins, because the copy window %s and the cut-over window %s have no time in common; "+
			"use --method=shadow, which needs none", hours, cutover)
	}
	return fmt.Sprintf("the server begins in the window %s, and its statement then runs to its end; %s", hours, wouldEnd(p, d))
}
