package operator

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"midstream/internal/engine/deadline"
	"midstream/internal/engine/forecast"
)

// finish are the settings of the deadline.
func finish() []Setting {
	return []Setting{
		duration(
			"finish-within", 0, 10_000*time.Hour,
			"end the change within this time from its first start, at the gentlest pace that meets it; 0: no deadline",
			func(c *Settings) *time.Duration { return &c.Finish.Within },
		),
		{
			Name: "finish-by",
			Kind: "time",
			Help: "end the change by this time, at the gentlest pace that meets it: 06:00, '06:00 Europe/Berlin', " +
				"'2026-11-27 06:00 Europe/Berlin' or 2026-11-27T06:00:00+01:00",
			get: func(c *Settings) string { return c.Finish.By.String() },
			set: func(c *Settings, text string) error {
				if text == "" {
					c.Finish.By = deadline.By{}
					return nil
				}
				by, err := deadline.ParseBy(text)
				if err == nil {
					c.Finish.By = by
				}
				return err
			},
		},
		{
			Name: "max-slowdown-at-most",
			Kind: "maximum",
			Help: "highest percentage to which a run that is behind its deadline may raise --max-slowdown (its time by the same factor): " +
				"1% to 1000%, or full: without limit",
			get: func(c *Settings) string {
				if math.IsInf(c.Finish.AtMost, 1) {
					return withoutLimit
				}
				return percentText(c.Finish.AtMost)
			},
			set: func(c *Settings, text string) error {
				if text == withoutLimit {
					c.Finish.AtMost = math.Inf(1)
					return nil
				}
				n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
				if err != nil || n < 1 || n > 1000 {
					return errors.New("must be a whole percentage between 1 and 1000, such as 50%, or full for no limit")
				}
				c.Finish.AtMost = float64(n) / 100
				return nil
			},
		},
	}
}

const (
	// withoutLimit is the text of an infinite Terms.AtMost.
	withoutLimit = "full"
	// unfelt is a slowdown so high that it limits nothing.
	unfelt = 10
)

// fixFinish makes a time of day that an operator gives now the next one from now. It fails with
// *BadSetting if the time has passed.
func (s *Settings) fixFinish(values map[string]string, now time.Time) error {
	const name = "finish-by"
	if _, given := values[name]; !given || s.Finish.By.IsZero() {
		return nil
	}
	s.Finish.By = s.Finish.By.Fixed(now)
	if s.Finish.By.At(now).After(now) {
		return nil
	}
	return &BadSetting{name, values[name], errors.New("this time has passed"), "give a later time, such as 06:00, which is the next one"}
}

// Calendar is when the row copy may work, and how fast it is then.
func (s Settings) Calendar() forecast.Calendar {
	c := forecast.Calendar{Hours: s.Throttle.CopyWindow, Loads: s.Profile, Sensitivity: forecast.Gentle}
	if c.Loads.IsZero() {
		c.Loads = s.Seen
	}
	if s.FullSpeed {
		c.Sensitivity = forecast.FullSpeed
	}
	return c
}

// Rule is what the settings ask for about the deadline of a change that began at a time. steered
// is false if the run gives way to no application: then there is no limit to change.
func (s Settings) Rule(began time.Time, steered bool) deadline.Rule {
	s = s.WithDefaults()
	most := max(1, min(s.Finish.AtMost, unfelt)/s.MaxSlowdown.Percentage())
	hours := s.Calendar()
	aim := deadline.Aim{By: s.Finish.At(began), Least: deadline.Gentlest, Most: most, Hours: hours.Hours, Loads: hours.Loads}
	aim.Sensitivity = hours.Sensitivity
	if !steered {
		aim.Least, aim.Most = 1, 1
	}
	return deadline.Rule{Aim: aim, Limit: func(factor float64) string {
		if !steered || factor == aim.Most && math.IsInf(s.Finish.AtMost, 1) {
			return withoutLimit
		}
		return s.MaxSlowdown.Times(factor).String()
	}}
}
