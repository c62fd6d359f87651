package summary

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/forecast"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/window"
)

// TestPlanWithCopyWindow: a plan says when rows are copied, and when a run that begins now would end.
// 2026-11-25 is a Wednesday.
func TestPlanWithCopyWindow(t *testing.T) {
	hours := func(text string) window.Window {
		w, err := window.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	shadow := func(p *plan.Plan) { p.Pace.Shadow.Rows, p.Pace.Verify, p.Pace.Measured = 10, 0, true } // 8 h 13 min
	build := func(p *plan.Plan) {
		shadow(p)
		p.Choice = plan.Choice{Method: plan.MethodInplace, Builds: true}
		p.Native, p.Pace.Native.Rows = &plan.Answer{Method: plan.MethodInplace, Effect: plan.Rebuild}, 10
	}
	instant := func(p *plan.Plan) {
		p.Choice = plan.Choice{Method: plan.MethodInstant}
		p.Native = &plan.Answer{Method: plan.MethodInstant, Effect: plan.Metadata}
	}
	for _, c := range []struct {
		change        func(*plan.Plan)
		copy, cutover string
		says          string
	}{
		{shadow, "22:00-02:00 UTC", "", "Window rows are copied only 22:00-02:00 UTC, and changes are applied at any time; " +
			"a run that begins now would end about Fri 22:13 UTC (Fri 00:34 UTC to Sat 00:16 UTC)"},
		{shadow, "Mon 22:00-02:00 UTC", "", "would end about Mon 14 Dec 22:13 UTC ("},
		{build, "22:00-02:00 UTC", "01:00-03:00 UTC", "the server begins in the window 22:00-02:00 UTC, and its statement then runs to its end; " +
			"a run that begins now would end about Thu 06:13 UTC"},
		{build, "22:00-02:00 UTC", "02:00-03:00 UTC", "the server never begins, because the copy window 22:00-02:00 UTC"},
		{instant, "22:00-02:00 UTC", "", ""},
	} {
		p := planned(t, "ADD COLUMN c INT", c.change)
		p.Now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
		p.Settings.Throttle.CopyWindow = hours(c.copy)
		if c.cutover != "" {
			p.Settings.When.Window = hours(c.cutover)
		}
		text := strings.Join(strings.Fields(OfPlan(p, Style{}, "")), " ")
		if c.says == "" && strings.Contains(text, "Window") || !strings.Contains(text, c.says) {
			t.Errorf("%s: %s, want %q", c.copy, text, c.says)
		}
	}
	p := planned(t, "ADD COLUMN c INT", shadow)
	p.Settings.Throttle.CopyWindow = hours("22:00-02:00")
	if d := Predict(p.Plan, p.Config, p.Settings); d.WithWindow < d.Elapsed+20*time.Hour || d.WithWindow > d.Elapsed+100*time.Hour {
		t.Errorf("%s with the window, %s without", d.WithWindow, d.Elapsed)
	}
	if d := Predict(p.Plan, p.Config, planned(t, "ADD COLUMN c INT", nil).Settings); d.WithWindow != 0 {
		t.Errorf("%s without a window", d.WithWindow)
	}
	p.Settings.Finish.Within = 6 * time.Hour
	p.Settings.Throttle.CopyWindow = hours("Mon 22:00-22:01 UTC")
	if d := Predict(p.Plan, p.Config, p.Settings); !strings.Contains(finish(p, d, time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)), "takes longer") {
		t.Error("too short a time is not reported")
	}
	p.Settings.Finish.Within = 24 * time.Hour
	p.Settings.Throttle.CopyWindow = hours("22:00-02:00 UTC")
	text := finish(p, Predict(p.Plan, p.Config, p.Settings), time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
	if want := "the copy window is open for 4 h until then, and the change probably takes about 8 h 15 min"; !strings.Contains(text, want) {
		t.Errorf("%s, want %q", text, want)
	}
}

// TestPlanWithProfile: a plan says when a run that begins now would end by the load of each hour, and
// whether its deadline leaves the time for that.
func TestPlanWithProfile(t *testing.T) {
	loads := func(text string) forecast.Profile {
		path := filepath.Join(t.TempDir(), "load.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := forecast.ReadProfile(path)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	// 8 h 13 min at the load of noon, 60 %, is 71 minutes on an idle server.
	p := planned(t, "ADD COLUMN c INT", func(p *plan.Plan) { p.Pace.Shadow.Rows, p.Pace.Verify, p.Pace.Measured = 10, 0, true })
	p.Now, p.Settings.Profile = now, loads("zone,UTC\n0-23,60\n14-15,0\n")
	text := strings.Join(strings.Fields(OfPlan(p, Style{}, "")), " ")
	if want := "load.csv; a run that begins now would end about Wed 14:53 "; !strings.Contains(text, want) {
		t.Errorf("%s, want %q", text, want)
	}
	d := predicted(p.Plan, p.Pace, p.Config, p.Settings.WithDefaults(), now)
	if d.WithWindow == 0 || d.WithWindow > d.Elapsed+time.Minute {
		t.Errorf("%s with the profile, %s without", d.WithWindow, d.Elapsed)
	}
	p.Settings.Finish.Within = 6 * time.Hour
	if text := finish(p, d, now); strings.Contains(text, "longer") {
		t.Errorf("it ends at 14:53, and the plan says: %s", text)
	}
	p.Settings.Finish.Within = 2 * time.Hour
	if text := finish(p, d, now); !strings.Contains(text, "takes longer at the usual pace, until about 14:53") {
		t.Errorf("it ends at 14:53, and the plan says: %s", text)
	}
	p.Settings.Seen = p.Settings.Profile
	if text := OfPlan(p, Style{}, ""); strings.Contains(text, "known from") {
		t.Errorf("with a file, the plan has the load from elsewhere: %s", text)
	}
	p.Settings.Profile = forecast.Profile{}
	text = strings.Join(strings.Fields(OfPlan(p, Style{}, "")), " ")
	if want := "Profile the load of each hour is known from "; !strings.Contains(text, want) || !strings.Contains(text, "Wed 14:53") {
		t.Errorf("%s, want %q", text, want)
	}
}
