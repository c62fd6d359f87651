package summary

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/throttle"
	"midstream/internal/face/humanize"
)

// fullSpeed is the limit of a run without one.
const fullSpeed = "full speed"

// offers are what the change costs by some limits of the application's slowdown, the gentlest first,
// with the chosen one. There are none unless a calibration has measured the curve.
func offers(p *plan.Plan, cfg migration.Config, settings operator.Settings, now time.Time) (all []plan.Offer) {
	curve := p.Pace.Curve
	if !curve.Known() || !curve.Complete || p.Choice.Method != plan.MethodShadow {
		return nil
	}
	add := func(limit string, point plan.Point, chosen bool) {
		if i := slices.IndexFunc(all, func(o plan.Offer) bool { return o.Limit == limit }); i >= 0 {
			all[i].Chosen = all[i].Chosen || chosen
			return
		}
		d := predicted(p, p.Pace.At(point), cfg, settings, now)
		all = append(all, plan.Offer{Limit: limit, Chosen: chosen, Point: point, Elapsed: d.Elapsed, WithWindow: d.WithWindow})
	}
	mine, usual := settings.MaxSlowdown, throttle.DefaultSlowdown()
	for _, limit := range []throttle.Slowdown{{Part: usual.Part}, {Time: usual.Time}, mine} {
		add(limit.String(), limit.Within(curve), limit == mine && !settings.FullSpeed)
	}
	add(fullSpeed, curve.Full(), settings.FullSpeed)
	slices.SortStableFunc(all, func(a, b plan.Offer) int { return cmp.Compare(a.Rows, b.Rows) })
	return all
}

// pace writes an offer, such as "within 0.2ms: about 9 h, 1,240 rows/s; statements take 4 % longer, p99 4.0 ms (now 3.9 ms)".
func pace(o plan.Offer, application plan.Curve) string {
	text := o.Limit
	if o.Limit != fullSpeed {
		text = "within " + o.Limit
	}
	if o.Chosen {
		text += " (chosen)"
	}
	text += fmt.Sprintf(": %s, %s rows/s", roughly(max(o.Elapsed, o.WithWindow)), humanize.Rate(o.Rows))
	return text + "; " + humanize.Costs(o.Slower, o.P99, application.P99)
}
