package forecast

import (
	"fmt"
	"math"
	"time"
)

// Past is the work of an earlier run in one hour of the day.
type Past struct {
	Run  int // its number
	Hour int // of the day, local time
	Over time.Duration
	Rows float64 // copied
	// Statements is how many statements of the application ended in a second.
	Statements float64
}

const (
	// leastHours is the number of hours of a day that earlier runs must have seen.
	leastHours = 12
	// assumedBusiest is the load of the busiest hour if the rates of the runs do not show it.
	assumedBusiest = 0.5
	loadSteps      = 40
)

// Seen returns the load of each hour as earlier runs saw it. An hour that they did not see is
// between its neighbours. If they saw too few hours, or no application, the profile is zero.
//
// The load is in proportion to the application's statements. The factor is the one that explains best
// how much slower a run copied its rows in hours with more statements.
func Seen(past []Past) Profile {
	var day [24]float64
	var seen [24]bool
	hours, busiest := 0, 0.0
	for hour := range day {
		day[hour], seen[hour] = statementsIn(past, hour)
		if busiest = max(busiest, day[hour]); seen[hour] {
			hours++
		}
	}
	if hours < leastHours || busiest == 0 {
		return Profile{}
	}
	p := Profile{zone: time.Local, text: fmt.Sprintf("earlier runs, which saw %d hours of the day", hours)}
	best, least := 0.0, math.Inf(1)
	for step := 1; step <= loadSteps; step++ {
		load := float64(step) / loadSteps
		miss := missOf(past, load/busiest) + math.Pow(math.Log(load/assumedBusiest)/unsureGuess, 2)
		if miss < least {
			best, least = load, miss
		}
	}
	for hour := range day {
		load := best / busiest * between(day, seen, hour)
		for weekday := range p.loads {
			p.loads[weekday][hour] = load
		}
	}
	return p
}

// statementsIn is the mean of the statements in an hour of the day, and whether it is known.
func statementsIn(past []Past, hour int) (mean float64, known bool) {
	var sum, seconds float64
	for _, p := range past {
		if p.Hour == hour {
			sum, seconds = sum+p.Statements*p.Over.Seconds(), seconds+p.Over.Seconds()
		}
	}
	if seconds < leastSeen {
		return 0, false
	}
	return sum / seconds, true
}

// missOf is how badly a load explains the rates of the runs, if it is so much for each statement.
func missOf(past []Past, perStatement float64) (miss float64) {
	runs := map[int]*learner{}
	for _, p := range past {
		if runs[p.Run] == nil {
			runs[p.Run] = &learner{}
		}
		runs[p.Run].observe(kept{over: p.Over.Seconds(), done: p.Rows, load: perStatement * p.Statements})
	}
	for _, run := range runs {
		miss += run.miss(Gentle)
	}
	return miss
}

// between is the value of an hour, or of the nearest hours that were seen before and after it.
func between(day [24]float64, seen [24]bool, hour int) float64 {
	before, after := 0, 0
	for !seen[(hour-before+24)%24] {
		before++
	}
	for !seen[(hour+after)%24] {
		after++
	}
	if before+after == 0 {
		return day[hour]
	}
	part := float64(before) / float64(before+after)
	return (1-part)*day[(hour-before+24)%24] + part*day[(hour+after)%24]
}
