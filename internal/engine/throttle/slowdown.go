package throttle

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Slowdown is how much longer the application's statements may take on average: by a part of their
// time, or by a time, whichever is more.
type Slowdown struct {
	Part float64       // 0.05 is 5 %
	Time time.Duration // for each statement
}

// DefaultSlowdown returns the slowdown that a run keeps to if nobody names another: 5 %.
func DefaultSlowdown() Slowdown { return Slowdown{Part: 0.05} }

// The bounds of a Slowdown.
const (
	mostPart    = 10.0
	mostLonger  = 10 * time.Second
	leastLonger = time.Microsecond
)

// SlowdownRange describes the values that ParseSlowdown takes.
const SlowdownRange = "up to 1000%, a time up to 10s, or both"

// ParseSlowdown reads "5%", "0.2ms", or both with a comma between them. What is not named is 0.
func ParseSlowdown(text string) (Slowdown, error) {
	var s Slowdown
	var part, longer bool
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if d, err := time.ParseDuration(word); err == nil && !strings.HasSuffix(word, "%") && d != 0 {
			if longer || d < leastLonger || d > mostLonger {
				return Slowdown{}, errSlowdown
			}
			s.Time, longer = d, true
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSuffix(word, "%"), 64)
		if err != nil || part || !(n >= 0 && n <= 100*mostPart) {
			return Slowdown{}, errSlowdown
		}
		s.Part, part = n/100, true
	}
	if s == (Slowdown{}) {
		return s, errSlowdown // copy-share=0% stops the row copy
	}
	return s, nil
}

var errSlowdown = errors.New(
	"must be a percentage up to 1000%, a time up to 10s, or both with a comma between them, such as 5%,0.2ms",
)

// String is the text that ParseSlowdown reads.
func (s Slowdown) String() string {
	var words []string
	if s.Part > 0 || s.Time == 0 {
		words = append(words, strconv.FormatFloat(math.Round(1e5*s.Part)/1e3, 'f', -1, 64)+"%")
	}
	if s.Time > 0 {
		words = append(words, fmt.Sprintf("%gms", math.Round(s.Time.Seconds()*1e6)/1e3))
	}
	return strings.Join(words, ",")
}

// Percentage is the part, or that of the default if only a time is given.
func (s Slowdown) Percentage() float64 {
	if s.Part == 0 {
		return DefaultSlowdown().Part
	}
	return s.Part
}

// Times returns a slowdown that allows so many times as much.
func (s Slowdown) Times(factor float64) Slowdown {
	return Slowdown{Part: factor * s.Part, Time: time.Duration(factor * float64(s.Time))}
}
