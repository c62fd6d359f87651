package summary

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// TestPlanWithDeadline: a plan says how long it is to the deadline, and what the run does about it.
func TestPlanWithDeadline(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		within, takes time.Duration
		method        plan.Method
		full          bool
		former, want  string
	}{
		{0, time.Hour, plan.MethodShadow, false, "", ""},
		{6 * time.Hour, time.Hour, plan.MethodShadow, false, "", "the gentlest pace"},
		{6 * time.Hour, 9 * time.Hour, plan.MethodShadow, false, "", "probably takes longer, about 9 h"},
		{6 * time.Hour, time.Hour, plan.MethodShadow, true, "", "at full speed"},
		{6 * time.Hour, time.Hour, plan.MethodInplace, false, "", "at its own pace"},
		{6 * time.Hour, time.Hour, plan.MethodShadow, false, "resuming an earlier run", "from the first start"},
	} {
		p := Planned{Plan: &plan.Plan{Source: &schema.Table{}}, Former: c.former}
		p.Choice.Method, p.Server.PerformanceSchema = c.method, true
		p.Settings.Finish.Within, p.Settings.FullSpeed = c.within, c.full
		got := finish(p, plan.Prediction{Elapsed: c.takes}, now)
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
