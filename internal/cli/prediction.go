package cli

import (
	"fmt"
	"strings"

	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
)

// predict is what a run of the plan will probably cost.
func predict(p *plan.Plan, cfg migration.Config, settings operator.Settings) plan.Prediction {
	settings = settings.WithDefaults()
	bounds := plan.Bounds{Wait: settings.Lock.Wait, Work: settings.Lock.Work}
	return p.Predict(p.Pace.Shared(1-settings.Rest), bounds, cfg.WithDefaults().Defers(p))
}

// predictionText tells a prediction in the lines of a plan.
func predictionText(d plan.Prediction, line func(label, format string, args ...any)) {
	if len(d.Locks) == 0 {
		return // nothing is done
	}
	if d.Rows > 0 {
		how := "assumed: --calibrate measures it"
		if d.Measured {
			how = "measured with rows of this table"
		}
		line(
			"takes", "about %s, between %s and %s (%s): %s rows/s", humanize.Span(d.Elapsed), humanize.Span(d.Least),
			humanize.Span(d.Most), how, humanize.Rate(d.RowsPerSecond),
		)
		line("disk", "%s more at the peak; about %s of redo log meanwhile, and %s of binlog besides the application's",
			humanize.Size(d.Disk), humanize.Size(d.Redo), humanize.Size(d.Binlog))
	} else {
		line("takes", "less than %s, once nobody is in the way", humanize.Span(d.Most))
	}
	var locks []string
	for _, l := range d.Locks {
		locks = append(locks, fmt.Sprintf("%d %s for %s", l.Count, l.Kind, l.For))
	}
	line("locks", "%s; nobody waits for longer than %s", strings.Join(locks, "; "), humanize.Span(d.Locked))
	if d.ReplicaLag > 0 {
		line("replicas", "fall behind by about %s when it has ended", humanize.Span(d.ReplicaLag))
	}
}

// costText sets what a run has cost beside what was predicted.
func costText(d plan.Prediction, r migration.Result) string {
	if d.Rows == 0 {
		return ""
	}
	parts := []string{
		fmt.Sprintf(
			"%s (predicted %s, between %s and %s)", humanize.Span(r.Elapsed), humanize.Span(d.Elapsed), humanize.Span(d.Least),
			humanize.Span(d.Most),
		),
	}
	for _, c := range []struct {
		what              string
		actual, predicted int64
	}{{"disk", r.Disk, d.Disk}, {"redo log", r.Redo, d.Redo}, {"binlog", r.Binlog, d.Binlog}} {
		if c.actual > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s (predicted %s)", humanize.Size(c.actual), c.what, humanize.Size(c.predicted)))
		}
	}
	return strings.Join(parts, ", ")
}
