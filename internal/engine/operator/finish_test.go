package operator_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/operator"
)

// TestFinishLive: a time of day that is set during a run is the next one, with its date, and a time
// that has passed is refused.
func TestFinishLive(t *testing.T) {
	c := operator.NewControl(operator.CommandLineDefaults())
	began := time.Now().Add(-30 * time.Hour)
	next := time.Now().UTC().Add(2 * time.Hour).Truncate(time.Minute)
	if err := c.Set(t.Context(), map[string]string{"finish-by": next.Format("15:04") + " UTC"}); err != nil {
		t.Fatal(err)
	}
	if by := c.Settings().Rule(began, true).By; !by.Equal(next) {
		t.Errorf("the deadline is %s, want %s", by, next)
	}
	if text := c.Settings().Finish.By.String(); text != next.Format("2006-01-02 15:04")+" UTC" {
		t.Errorf("it is shown as %q", text)
	}
	var bad *operator.BadSetting
	if err := c.Set(t.Context(), map[string]string{"finish-by": "2026-11-01 06:00 UTC"}); !errors.As(err, &bad) {
		t.Errorf("a time that has passed: %v", err)
	}
	if err := c.Set(t.Context(), map[string]string{"finish-by": "", "finish-within": "48h"}); err != nil {
		t.Fatal(err)
	}
	if by := c.Settings().Rule(began, true).By; !by.Equal(began.Add(48 * time.Hour)) {
		t.Errorf("48 hours from the first start are %s", by)
	}
}

// TestFinishRule: the highest factor is the highest limit over the usual one, and never below 1.
func TestFinishRule(t *testing.T) {
	for _, c := range []struct {
		values  map[string]string
		most    float64
		highest string
	}{
		{map[string]string{}, 10, "50%,2ms"},
		{map[string]string{"max-slowdown-at-most": "20%"}, 4, "20%,0.8ms"},
		{map[string]string{"max-slowdown-at-most": "2%"}, 1, "5%,0.2ms"},
		{map[string]string{"max-slowdown-at-most": "full"}, 200, "full"},
	} {
		control := operator.NewControl(operator.CommandLineDefaults())
		if err := control.Set(t.Context(), c.values); err != nil {
			t.Fatal(err)
		}
		r := control.Settings().Rule(time.Now(), true)
		if math.Abs(r.Most-c.most) > 1e-9 || r.Limit(r.Most) != c.highest || !r.By.IsZero() {
			t.Errorf("%v: %+v, %s", c.values, r, r.Limit(r.Most))
		}
		if r = control.Settings().Rule(time.Now(), false); r.Most != 1 || r.Least != 1 {
			t.Errorf("%v without a limit: %+v", c.values, r)
		}
	}
	s := operator.CommandLineDefaults()
	setting, _ := operator.SettingOf("max-slowdown-at-most")
	if err := setting.Set(&s, "much"); err == nil || !strings.Contains(err.Error(), "50%") {
		t.Errorf("a bad value: %v", err)
	}
}
