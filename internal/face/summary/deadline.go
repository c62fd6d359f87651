package summary

import (
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
)

// finish writes what a run does about its deadline if it began now; "" if it has none.
func finish(p Planned, d plan.Prediction, now time.Time) string {
	rule := p.Settings.Rule(now, p.Server.PerformanceSchema && !p.Settings.FullSpeed)
	if rule.By.IsZero() || d.Elapsed == 0 {
		return ""
	}
	if strings.HasPrefix(p.Former, "resuming") {
		return "counted from the first start of the change, which this run resumes"
	}
	hours := p.Settings.Calendar()
	left, open, by := rule.By.Sub(now), hours.Hours.Within(now, rule.By), humanize.Moment(rule.By, now)
	fits := hours.Within(now, rule.By) >= idling(hours, now, d.Elapsed, d.Measured)
	text := fmt.Sprintf("%s, in %s", by, humanize.About(left))
	switch {
	case left <= 0:
		return by + " has passed"
	case left < d.Elapsed && hours.Loads.IsZero():
		text += "; the change probably takes longer, " + roughly(d.Elapsed)
	case open < d.Elapsed && hours.Loads.IsZero() && p.Choice.Method == plan.MethodShadow:
		text += fmt.Sprintf("; the copy window is open for %s until then, and the change probably takes %s", humanize.About(open), roughly(d.Elapsed))
	case !fits && p.Choice.Method == plan.MethodShadow:
		text += "; by the load of each hour, the change probably takes longer at the usual pace, until about " +
			humanize.Moment(ending(p.Choice, hours, now, d.Elapsed, d.Measured), now)
	}
	switch {
	case p.Choice.Method != plan.MethodShadow:
		return text + "; the server itself alters the table, at its own pace"
	case rule.Most <= rule.Least:
		return text + "; the run copies rows at full speed"
	}
	return text + fmt.Sprintf("; the run takes the gentlest pace that meets it, and slows the application by at most %s", rule.Limit(rule.Most))
}
