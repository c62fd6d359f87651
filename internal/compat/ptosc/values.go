package ptosc

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	timeForm     = regexp.MustCompile(`^\+?(\d+)([a-z])?$`)
	variableForm = regexp.MustCompile(`^[a-zA-Z_]+$`)
	numberForm   = regexp.MustCompile(`^[\d.]+$`)
)

// parseTime reads whole seconds, or minutes, hours or days where the unit says so.
func parseTime(text string) (time.Duration, error) {
	parts := timeForm.FindStringSubmatch(text)
	if parts == nil {
		return 0, errors.New("Invalid time")
	}
	n, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return 0, errors.New("Invalid time")
	}
	unit, known := map[string]time.Duration{"": time.Second, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[parts[2]]
	if !known {
		return 0, errors.New("Invalid time suffix")
	}
	return time.Duration(n) * unit, nil
}

// seconds is an option of a number of seconds.
func (s said) seconds(name string, dflt time.Duration) time.Duration {
	n, err := strconv.ParseFloat(s.last(name), 64)
	if err != nil || n < 0 || n > 1e6 {
		return dflt
	}
	return time.Duration(n * float64(time.Second))
}

// load is the most that a status variable may be.
type load struct {
	variable string
	most     float64
	// open says that it follows from what the variable is at the beginning.
	open bool
}

// parseLoads reads Threads_running=25,Threads_connected. Nothing is no limit.
func parseLoads(text string) ([]load, error) {
	if text == "" {
		return nil, nil
	}
	var loads []load
	for _, part := range splitList(text) {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, errors.New("Empty or undefined spec")
		}
		variable, number := part, ""
		if at := strings.IndexAny(part, ":="); at >= 0 {
			variable, number = part[:at], part[at+1:]
		}
		most, err := strconv.ParseFloat(number, 64)
		switch {
		case !variableForm.MatchString(variable):
			return nil, fmt.Errorf("%s is not a variable name", variable)
		case number == "" || number == "0":
			loads = append(loads, load{variable: variable, open: true})
			continue
		case err != nil || !numberForm.MatchString(number):
			return nil, fmt.Errorf("The value for %s must be a number", variable)
		}
		loads = append(loads, load{variable: variable, most: most})
	}
	return loads, nil
}

// loadText is a list of loads as midstream reads it; those that are open are left out.
func loadText(loads []load) string {
	var parts []string
	for _, l := range loads {
		if !l.open {
			parts = append(parts, fmt.Sprintf("%s=%g", l.variable, l.most))
		}
	}
	return strings.Join(parts, ",")
}

// report says when a line of progress is due.
type report struct {
	every time.Duration // 0: by part
	part  float64       // of the whole, of 1
}

// parseReport reads time,30 or percentage,10.
func parseReport(text string) (report, error) {
	if text == "" {
		text = "time,30"
	}
	parts := splitList(text)
	if len(parts) != 2 {
		return report{}, errors.New("spec array requires a two-part argument")
	}
	n, err := strconv.Atoi(strings.TrimSpace(parts[1]))
	if err != nil || n < 0 {
		return report{}, errors.New("spec array's second element must be an integer")
	}
	switch parts[0] {
	case "percentage":
		return report{part: max(float64(n), 1) / 100}, nil
	case "time":
		return report{every: max(time.Duration(n)*time.Second, 500*time.Millisecond)}, nil
	case "iterations":
		return report{every: 30 * time.Second}, nil
	}
	return report{}, errors.New("spec array's first element must be one of percentage,time,iterations")
}

// patience is for how long that program would try to swap the tables: as often as --tries says,
// each time as long as its session waits for a lock, with a pause between.
func (a *Asked) patience() (time.Duration, error) {
	tries, wait := 10.0, 1.0
	for _, part := range splitList(a.said.last("tries")) {
		if part == "" {
			continue
		}
		fields := strings.Split(part, ":")
		if len(fields) != 3 {
			return 0, fmt.Errorf("Invalid --tries value: %s", part)
		}
		n, errN := strconv.ParseFloat(fields[1], 64)
		w, errW := strconv.ParseFloat(fields[2], 64)
		switch fields[0] {
		case "create_triggers", "drop_triggers", "copy_rows", "update_foreign_keys", "analyze_table":
			continue
		case "swap_tables":
		default:
			return 0, fmt.Errorf("Invalid --tries operation: %s", fields[0])
		}
		switch {
		case errN != nil || !(n > 0):
			return 0, fmt.Errorf("Invalid --tries tries: %s", fields[1])
		case errW != nil || !(w > 0):
			return 0, fmt.Errorf("Invalid --tries wait: %s", fields[2])
		}
		tries, wait = n, w
	}
	lock := 60.0
	if text, is := a.variable("lock_wait_timeout"); is {
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			lock = n
		}
	}
	return time.Duration(math.Min(tries*(lock+wait), 3.6e6)*1000) * time.Millisecond, nil
}
