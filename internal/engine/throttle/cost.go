package throttle

import "math"

// How what is tolerated is come near to.
const (
	remember  = 0.93 // what a cycle is worth beside the next one: some fifteen count
	fall      = 0.5  // the most that one cycle takes off the duty, as a factor
	climb     = 1.25 // and what it adds where the cost is not sure
	rise      = 1.5  // where it surely is below what is tolerated
	priorLow  = 0.5  // cost of one worker before anything was seen,
	priorHigh = 1.0  // or where all that is known is an alarm,
	guessed   = 0.02 // and what such a guess is worth, as the square of a duty that was seen for one cycle
	noise     = 0.05 // of a cycle, at least
)

// cost learns what work costs the application: by how much longer statements take, for each unit of
// the duty. The relation is taken for a straight line through nothing; its slope is the least
// squares', cycles weighing less the longer ago they are. What statements take varies by itself,
// often by more than work adds: so a guess has a part in it, and its error says how fast the duty
// may rise.
type cost struct {
	guess  float64
	dd, dx float64 // sums of duty squared, and of duty times difference
	n, ee  float64 // number of cycles, and sum of their squared errors
}

// slope is the cost of a duty of one, and its standard error.
func (c *cost) slope() (slope, sure float64) {
	variance := noise * noise
	if c.n > 1 {
		variance = max(variance, c.ee/c.n)
	}
	return (c.dx + guessed*c.guess) / (c.dd + guessed), math.Sqrt(variance / (c.dd + guessed))
}

// observe takes a cycle into account: with that duty the logarithm of what statements took was greater by so much.
func (c *cost) observe(duty, difference float64) {
	slope, _ := c.slope()
	miss := difference - slope*duty
	c.n, c.ee = remember*c.n+1, remember*c.ee+miss*miss
	c.dd, c.dx = remember*c.dd+duty*duty, remember*c.dx+duty*difference
}

// next is the duty after one, with which statements take as much longer as is tolerated: a difference of logarithms.
func (c *cost) next(duty, tolerated float64) float64 {
	slope, sure := c.slope()
	switch right := tolerated / max(1e-6, slope); {
	case right < duty:
		return max(fall*duty, right)
	case tolerated/max(1e-6, slope+sure) > duty:
		return min(rise*duty, right)
	default:
		return min(climb*duty, right)
	}
}

// An application with so few statements running on average waits for itself and hardly for the server, and nobody
// for it: its statements may take longer.
const (
	alone    = 0.12 // statements running, and below
	together = 0.8  // and above
	lonely   = 14.0 // times as much longer
)

// tolerated is the difference of logarithms that is tolerated where so many statements run on
// average: the part of slower where the server has company, and more where it is all but idle.
func tolerated(slower, running float64) float64 {
	part := min(1, max(0, (together-running)/(together-alone)))
	return math.Log1p(slower) * math.Pow(lonely, part)
}

// level is what statements take while there is work, by their kinds, and how that varies.
type level struct {
	means      map[string]float64
	looks      float64 // that it is the mean of, up to 10; 0: it is not known
	variance   float64
	statements float64 // a look
	suspicious bool    // the last look was
}

// What is alarming.
const (
	alarm      = 0.4 // a difference of logarithms,
	deviations = 2.5 // and beyond what is usual
)

// observe takes a look into account and reports whether statements take alarmingly longer than before, in
// this one and the last, or don't end.
func (l *level) observe(a activity) (alarming bool) {
	n := float64(a.ended())
	stuck := n == 0 && a.busy > 1 && l.statements > 10
	if n == 0 {
		return stuck
	}
	if l.looks == 0 {
		l.means, l.looks, l.variance, l.statements = a.means(), 1, 0.04, n
		return false
	}
	difference := math.Log(a.against(l.means))
	suspicious := n >= 20 && difference > max(alarm, deviations*math.Sqrt(l.variance))
	alarming, l.suspicious = suspicious && l.suspicious, suspicious
	weight := 1 / min(10, l.looks+1)
	l.variance += min(0.1, weight) * (min(4, difference*difference) - l.variance)
	l.statements += weight * (n - l.statements)
	for kind, m := range a.means() {
		if l.means[kind] == 0 {
			l.means[kind] = m
		}
		l.means[kind] *= math.Pow(min(strange, max(1/strange, m/l.means[kind])), weight)
	}
	l.looks = min(10, l.looks+1)
	return alarming
}
