package operator_test

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/operator"
)

// TestDeadlineCountsTheCopyWindow: a deadline counts the time in which rows may be copied.
func TestDeadlineCountsTheCopyWindow(t *testing.T) {
	control := operator.NewControl(operator.CommandLineDefaults())
	noon := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	if r := control.Settings().Rule(noon, true); !r.Hours.IsZero() || control.Rests(noon) {
		t.Errorf("without a window: %+v", r)
	}
	if err := control.Set(t.Context(), map[string]string{"copy-window": "22:00-06:00 UTC", "finish-within": "24h"}); err != nil {
		t.Fatal(err)
	}
	r := control.Settings().Rule(noon, true)
	if r.Hours.IsZero() || r.Hours.Within(noon, r.By) != 8*time.Hour {
		t.Errorf("with a window: %+v", r)
	}
	if !control.Rests(noon) || control.Rests(noon.Add(11*time.Hour)) {
		t.Error("it rests in the window, or works outside of it")
	}
}

// TestBadWindowSetting: a bad window changes nothing, and its error has an example.
func TestBadWindowSetting(t *testing.T) {
	for _, name := range []string{"copy-window", "cutover-window"} {
		setting, known := operator.SettingOf(name)
		s := operator.CommandLineDefaults()
		if err := setting.Set(&s, "Sat 22:00-06:00 UTC"); !known || err != nil {
			t.Fatal(err)
		}
		err := setting.Set(&s, "nightly")
		if err == nil || !strings.Contains(err.Error(), "such as Mon-Fri") || setting.Get(s) != "Sat 22:00-06:00 UTC" {
			t.Errorf("%s: %v, and %q", name, err, setting.Get(s))
		}
		if err := setting.Set(&s, ""); err != nil || setting.Get(s) != "" {
			t.Errorf("%s: no window is %q, %v", name, setting.Get(s), err)
		}
	}
}
