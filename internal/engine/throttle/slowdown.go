package throttle

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"midstream/internal/engine/plan"
)

// Slowdown is how much longer the application's statements may take on average: by a part of their
// time, or by a time, whichever is more.
type Slowdown struct {
	Part float64       // 0.05 is 5 %
	Time time.Duration // for each statement
	// lost is the part of its statements that the application may lose; 0 if it follows the percentage.
	lost float64
}

// DefaultSlowdown returns the slowdown that a run keeps to if nobody names another: 5 %, or 0.2 ms if
// that is more. Users feel no less than that. With the percentage alone, a statement of 0.1 ms would have
// to stay below 0.105 ms, and a copy of hours would take days.
func DefaultSlowdown() Slowdown { return Slowdown{Part: 0.05, Time: 200 * time.Microsecond} }

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
	return Slowdown{Part: factor * s.Part, Time: time.Duration(factor * float64(s.Time)), lost: factor * s.fewer()}
}

// An application of few statements waits for itself, hardly for the server, and no session waits for
// it. So its statements may take longer. The bounds are parts of the server's room (cost.hardly).
const (
	aloneBelow = 0.06 // statements running, and below
	together   = 0.2  // and above
	lonely     = 14.0 // times as much longer
)

// tolerated returns the tolerated difference of logarithms for statements that take so many seconds
// on average, while none of our work runs. hardly is how idle the application is, and used the part of
// their time for which its sessions wait for statements, both 0 to 1.
//
// Throughput bounds it. By Little's law, sessions that wait for statements all the time make fewer of
// them by as much as they take longer. Sessions that wait for a tenth of their time make fewer by a
// tenth of that at most, and none fewer if something else drives them, such as users.
func (s Slowdown) tolerated(alone, hardly, used float64) float64 {
	most := math.Log1p(s.Part) * math.Pow(lonely, hardly)
	if alone > 0 {
		most = max(most, math.Log1p(s.Time.Seconds()/alone))
	}
	return min(most, math.Log1p(s.fewer()/max(1e-3, used)))
}

// hardly returns how idle an application is, 0 to 1. It compares the statements that run at one time
// with the room of the server, as the cost of a worker shows it: where a worker costs half as much as on
// two cores, twice as many statements are few.
func hardly(running, slope float64) float64 {
	return min(1, max(0, (together-running*slope)/(together-aloneBelow)))
}

// Approach is what a run takes longer than at the pace of Within, because a governor begins gently:
// about two of its cycles pass until it works at its pace.
const Approach = 1200 * time.Millisecond

// Within returns the fastest point of a curve that the limit allows. A governor finds the same, and
// rests between the times of work.
func (s Slowdown) Within(c plan.Curve) plan.Point {
	slope, idle := c.Slope(), hardly(c.Running, c.Slope())
	tolerated := s.tolerated(c.Mean.Seconds(), idle, c.Used)
	p := c.At(max(s.least(), dutyFor(tolerated, s.second(tolerated, idle), slope)))
	p.Rows *= workLong.Seconds() / (workLong + restFor).Seconds()
	return p
}

// second is what of tolerated more than one worker may cost. They make few statements wait for long,
// which the mean does not show. So it is a fourth, but no less than the percentage, and all of it if the
// application hardly uses the server.
func (s Slowdown) second(tolerated, hardly float64) float64 {
	return min(tolerated, max(math.Log1p(max(s.Part, DefaultSlowdown().Part)), tolerated*math.Pow(secondWorker, hardly-1)))
}

const secondWorker = 4.0

// fewer is the part of its statements that the application may lose: 3 % by default, and in proportion
// to the percentage, so that a deadline that raises the limit raises the pace as much.
func (s Slowdown) fewer() float64 {
	if s.lost > 0 {
		return s.lost
	}
	return lostShare * s.Percentage()
}

const lostShare = 0.6 // of the percentage

// least is the lowest duty: there is always some work. It follows the limit, so that a deadline which
// changes the limit changes the pace as much on a busy server, too.
func (s Slowdown) least() float64 {
	return leastDuty * max(leastLeast, s.fewer()/DefaultSlowdown().fewer())
}

// The lowest duty with the default limit, and the least part of it.
const (
	leastDuty  = 0.02
	leastLeast = 0.1
)
