package window

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// errSyntax shows how a window is written.
var errSyntax = errors.New(
	"must be FROM-TO, such as 02:00-04:00; days may come before it, and a time zone after it: " +
		"'Mon-Fri 22:00-06:00; Sat,Sun Europe/Berlin'",
)

// wholeDay is 24:00, the end of a day.
const wholeDay = 24 * time.Hour

// Parse reads a window such as "02:00-04:00", or "Mon-Fri 22:00-06:00; Sat,Sun Europe/Berlin".
// Days without hours are complete days, hours without days are of every day, and ; is between
// several. Without a zone, the window uses the local zone.
func Parse(text string) (Window, error) {
	w := Window{zone: time.Local, text: strings.TrimSpace(text)}
	parts := strings.Split(w.text, ";")
	for i, part := range parts {
		words := strings.Fields(part)
		if last := len(words) - 1; last > 0 && isZone(words[last]) {
			zone, err := time.LoadLocation(words[last])
			switch {
			case err != nil:
				return Window{}, fmt.Errorf("unknown time zone %s; a zone has a name such as Europe/Berlin or UTC", words[last])
			case i < len(parts)-1:
				return Window{}, fmt.Errorf("the time zone %s must come at the end, once for all windows", words[last])
			}
			w.zone, words = zone, words[:last]
		}
		s, err := parseSpan(words)
		if err != nil {
			return Window{}, err
		}
		w.spans = append(w.spans, s)
	}
	return w, nil
}

// isZone reports whether a word is neither hours nor days, and so can only be a time zone.
func isZone(word string) bool {
	if word[0] >= '0' && word[0] <= '9' || strings.ContainsAny(word, ",:") || word == "-" {
		return false
	}
	_, err := ParseDays(word)
	return err != nil
}

// parseSpan reads days, hours, or days and hours.
func parseSpan(words []string) (s span, err error) {
	if len(words) == 0 || len(words) > 2 {
		return s, errSyntax
	}
	hours := words[len(words)-1]
	dated := len(words) == 2
	if !dated && (hours[0] < '0' || hours[0] > '9') {
		dated, hours = true, ""
	}
	if s.days = everyDay(); dated {
		if s.days, err = ParseDays(words[0]); err != nil {
			return s, err
		}
	}
	if s.to = wholeDay; hours != "" {
		s.from, s.to, err = parseHours(hours)
	}
	return s, err
}

func everyDay() (days [7]bool) {
	for i := range days {
		days[i] = true
	}
	return days
}

// dayNames are the days by time.Weekday.
func dayNames() []string { return []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"} }

// ParseDays reads "Mon-Fri", "Sat,Sun" or "Mon,Wed-Fri". The days are by time.Weekday.
func ParseDays(text string) (days [7]bool, err error) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, several := strings.Cut(part, "-")
		if !several {
			to = from
		}
		begin, err := parseDay(from)
		if err != nil {
			return days, err
		}
		end, err := parseDay(to)
		if err != nil {
			return days, err
		}
		for day := begin; ; day = (day + 1) % 7 {
			days[day] = true
			if day == end {
				break
			}
		}
	}
	return days, nil
}

func parseDay(text string) (int, error) {
	day := slices.IndexFunc(dayNames(), func(name string) bool { return strings.EqualFold(name, text) })
	if day < 0 {
		return 0, fmt.Errorf("unknown day %q; days are Mon, Tue, Wed, Thu, Fri, Sat and Sun, such as Mon-Fri or Sat,Sun", text)
	}
	return day, nil
}

func parseHours(text string) (from, to time.Duration, err error) {
	begin, end, ok := strings.Cut(text, "-")
	if !ok {
		return 0, 0, errSyntax
	}
	if from, err = timeOfDay(begin); err != nil {
		return 0, 0, err
	}
	if to = wholeDay; end != "24:00" {
		if to, err = timeOfDay(end); err != nil {
			return 0, 0, err
		}
	}
	if from == to {
		return 0, 0, errors.New("it ends when it begins; a complete day is 00:00-24:00")
	}
	return from, to, nil
}

func timeOfDay(text string) (time.Duration, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, fmt.Errorf("%q must be a time between 00:00 and 23:59; the window %w", text, errSyntax)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}
