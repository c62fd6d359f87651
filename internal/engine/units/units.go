// Package units writes numbers of bytes, durations and times, in one way for plans, logs and pages.
package units

import (
	"fmt"
	"time"
)

// Size writes bytes.
func Size(bytes int64) string {
	units := []string{"bytes", "KB", "MB", "GB", "TB"}
	value, unit := float64(bytes), 0
	for value >= 1000 && unit < len(units)-1 {
		value /= 1000
		unit++
	}
	if unit == 0 || value >= 100 {
		return fmt.Sprintf("%.0f %s", value, units[unit])
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// Span writes a duration with two or three digits.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "?"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return inTwo(int(d.Minutes()), "min", int(d.Seconds())%60, "s")
	}
	return inTwo(int(d.Hours()), "h", int(d.Minutes())%60, "min")
}

// inTwo writes a number in two units, without a second one of zero.
func inTwo(large int, one string, small int, two string) string {
	if small == 0 {
		return fmt.Sprintf("%d %s", large, one)
	}
	return fmt.Sprintf("%d %s %d %s", large, one, small, two)
}

// Minute writes a time, to the minute.
func Minute(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") }
