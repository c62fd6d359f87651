package humanize

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"midstream/internal/engine/units"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/reach"
)

// Count writes a number with commas.
func Count[N int | int64 | uint64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}

// Plural writes a number and what is counted.
func Plural[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Rate writes a number per second.
func Rate(perSecond float64) string {
	if perSecond < 10 {
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return Count(int64(perSecond))
}

// leastRate is the lowest rate that Rate does not write as zero.
const leastRate = 0.05

// PerSecond writes a rate with its unit; "" if it is zero, which no line has.
func PerSecond(rate float64) string {
	if rate < leastRate {
		return ""
	}
	return Rate(rate) + "/s"
}

// Size writes a number of bytes.
func Size(bytes int64) string { return units.Size(bytes) }

// Span writes a duration with two or three digits.
func Span(d time.Duration) string { return units.Span(d) }

// About writes a prediction: coarse, so that it doesn't flicker. All predictions are rounded here: to
// two or three digits, in units that people say.
func About(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "unknown"
	case d < time.Second:
		return "less than 1 s"
	case d < 10*time.Second:
		return fmt.Sprintf("%d s", int(d.Seconds()+0.5))
	case d < 57500*time.Millisecond:
		return fmt.Sprintf("%d s", int(d.Seconds()/5+0.5)*5)
	case d < 5*time.Minute:
		return inTwo(d.Round(10*time.Second), time.Minute, "min", time.Second, "s")
	case d < time.Hour-30*time.Second:
		return fmt.Sprintf("%d min", int(d.Minutes()+0.5))
	case d < 10*time.Hour:
		return inTwo(d.Round(5*time.Minute), time.Hour, "h", time.Minute, "min")
	case d < 2*day-30*time.Minute:
		return fmt.Sprintf("%d h", int(d.Hours()+0.5))
	case d < 10*day:
		return inTwo(d.Round(time.Hour), day, "days", time.Hour, "h")
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24+0.5))
}

// inTwo writes a duration in a unit and a smaller one.
func inTwo(d, unit time.Duration, name string, small time.Duration, smallName string) string {
	text := fmt.Sprintf("%d %s", d/unit, name)
	if rest := d % unit / small; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return text
}

// Percent writes a fraction.
func Percent(fraction float64) string { return fmt.Sprintf("%.0f %%", 100*fraction) }

// Wrapped breaks a text into lines of at most width bytes; all but the first begin with
// indent. It escapes what a terminal would obey. A command of Midstream, and what is in quotes, stays on one line as it is: it is
// copied.
func Wrapped(text string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range reach.Words(text) {
		word = escape.Line(word)
		switch {
		case i == 0:
		case column+1+len(word) > width:
			b.WriteString("\n" + indent)
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// Reflowed is text in paragraphs of lines no longer than width. Paragraphs that are indented stay unchanged.
func Reflowed(text string, width int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if !strings.Contains("\n"+p, "\n ") {
			paragraphs[i] = Wrapped(p, width, "")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// OneLine makes a text fit for one line of at most most characters.
func OneLine(text string, most int) string {
	runes := []rune(escape.Line(strings.Join(strings.Fields(text), " ")))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}
