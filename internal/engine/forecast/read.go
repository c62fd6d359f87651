package forecast

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones for machines without them

	"midstream/internal/engine/window"
)

// longestProfile is the most bytes that a file of a profile may have.
const longestProfile = 64 << 10

// ReadProfile reads the profile in a file. Its errors name a line, and do not show its text: the
// file may be another one than was meant.
func ReadProfile(path string) (Profile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Profile{}, err
	}
	if !info.Mode().IsRegular() {
		return Profile{}, fmt.Errorf("%s must be a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return Profile{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longestProfile+1))
	if err != nil {
		return Profile{}, err
	}
	if len(text) > longestProfile {
		return Profile{}, fmt.Errorf("%s is longer than %d bytes", path, longestProfile)
	}
	p, err := ParseProfile(string(text))
	if err != nil {
		return Profile{}, fmt.Errorf("%s: %w", path, err)
	}
	p.text = path
	return p, nil
}

// errLoad shows how a line of a profile is written.
var errLoad = errors.New("must be HOURS,LOAD with a load in percent of the server's peak, such as '8-17,60' or 'Sat,Sun 0-23,10'")

// ParseProfile reads lines such as "Mon-Fri 8-17,60". The first number is an hour, or a range of
// hours, and the last one is the load in percent of the most that the server can do. A later line
// holds in place of an earlier one. "zone,Europe/Berlin" names the time zone; without it, hours are
// local. Lines that begin with # are comments, and the first line may have the names of the columns.
func ParseProfile(text string) (Profile, error) {
	p, known, first := Profile{zone: time.Local}, [7][24]bool{}, true
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		comma := strings.LastIndexByte(line, ',')
		if comma < 0 {
			return Profile{}, fmt.Errorf("line %d %w", i+1, errLoad)
		}
		hours, value := strings.TrimSpace(line[:comma]), strings.TrimSpace(line[comma+1:])
		header := first && hours == "hour"
		first = false
		switch {
		case header:
			continue
		case hours == "zone":
			zone, err := time.LoadLocation(value)
			if err != nil || value == "" {
				return Profile{}, fmt.Errorf("line %d has an unknown time zone; a zone has a name such as Europe/Berlin or UTC", i+1)
			}
			p.zone = zone
			continue
		}
		if err := p.take(hours, value, &known); err != nil {
			return Profile{}, fmt.Errorf("line %d %w", i+1, err)
		}
	}
	for day, hours := range known {
		if hour := slices.Index(hours[:], false); hour >= 0 {
			return Profile{}, fmt.Errorf("no line has the load of %s, hour %d; each hour from 0 to 23 must have one", time.Weekday(day), hour)
		}
	}
	return p, nil
}

// take sets the load of hours, and notes that it is known.
func (p *Profile) take(hours, value string, known *[7][24]bool) error {
	load, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
	if err != nil || !(load >= 0 && load <= 100) {
		return fmt.Errorf("has a load that is not between 0 and 100; it %w", errLoad)
	}
	days, words := [7]bool{true, true, true, true, true, true, true}, strings.Fields(hours)
	switch len(words) {
	case 2:
		if days, err = window.ParseDays(words[0]); err != nil {
			return fmt.Errorf("has an unknown day; it %w", errLoad)
		}
		words = words[1:]
	case 1:
	default:
		return errLoad
	}
	from, to, several := strings.Cut(words[0], "-")
	if !several {
		to = from
	}
	begin, err := strconv.Atoi(from)
	end, err2 := strconv.Atoi(to)
	if err != nil || err2 != nil || begin < 0 || end > 23 || begin > end {
		return fmt.Errorf("has hours that are not between 0 and 23; it %w", errLoad)
	}
	for day, is := range days {
		for hour := begin; is && hour <= end; hour++ {
			p.loads[day][hour], known[day][hour] = load/100, true
		}
	}
	return nil
}
