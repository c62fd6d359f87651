package throttle

import "math"

// These constants define how the duty approaches the tolerated cost.
const (
	// remember is the weight of a cycle relative to the next one: some fifteen cycles count.
	remember = 0.93
	// fall is the factor that one cycle takes off the duty at most.
	fall = 0.5
	// climb is the factor that a cycle adds if the cost is not certain.
	climb = 1.25
	// rise is the factor that a cycle adds if the cost is certainly below the tolerated one.
	rise = 1.5
	// riseFast is the same where sessions wait for statements for less than usedMuch of their time,
	// so that a mistake costs little throughput.
	riseFast = 2.5
	usedMuch = 0.5
	// priorLow is the assumed cost of one worker before anything was seen.
	priorLow = 0.5
	// priorHigh is the assumed cost of one worker if only an alarm is known.
	priorHigh = 1.0
	// guessed is the weight of such a guess, as the square of a duty that was seen for one cycle.
	guessed = 0.02
	noise   = 0.05 // of a cycle, at least
)

// cost learns how much work costs the application: how much longer statements take, for each unit
// of the duty. It assumes a straight line through zero. The slope is that of the least squares, and
// older cycles weigh less. The time of statements varies by itself, often by more than work adds.
// So a guess is part of the slope, and the slope's error limits how fast the duty may rise.
type cost struct {
	guess float64
	// running is the number of statements that run at one time. The guess is for two of them. Where
	// more run, they share the server already, and a worker takes one share more.
	running float64
	// dd and dx are the sums of duty squared, and of duty times difference.
	dd, dx float64
	// n is the number of cycles, and ee the sum of their squared errors.
	n, ee float64
}

// slope is the cost of a duty of one, and its standard error.
func (c *cost) slope() (slope, sure float64) {
	variance := noise * noise
	if c.n > 1 {
		variance = max(variance, c.ee/c.n)
	}
	return (c.dx + guessed*c.guess/max(1, c.running/2)) / (c.dd + guessed), math.Sqrt(variance / (c.dd + guessed))
}

// observe takes a cycle into account: with that duty the logarithm of what statements took was greater by so much.
func (c *cost) observe(duty, difference float64) {
	slope, _ := c.slope()
	miss := difference - slope*duty
	c.n, c.ee = remember*c.n+1, remember*c.ee+miss*miss
	c.dd, c.dx = remember*c.dd+duty*duty, remember*c.dx+duty*difference
}

// right is the duty that costs as much as is tolerated.
func (c *cost) right(tolerated float64) float64 {
	slope, _ := c.slope()
	return dutyFor(tolerated, tolerated, slope)
}

// dutyFor is the duty that costs as much as is tolerated, or as second if that is more than one worker.
func dutyFor(tolerated, second, slope float64) float64 {
	slope = max(1e-6, slope)
	return min(tolerated/slope, max(1, second/slope))
}

// next returns the duty of the next cycle: the duty that makes statements as much longer as is
// tolerated. tolerated is a difference of logarithms, second is the same for more than one worker, and rise
// is the factor that a cycle may add.
func (c *cost) next(duty, tolerated, second, rise float64) float64 {
	slope, sure := c.slope()
	right := dutyFor(tolerated, second, slope)
	switch {
	case right < duty:
		return max(fall*duty, right)
	case tolerated/(max(1e-6, slope)+sure) > duty:
		return min(rise*duty, right)
	default:
		return min(climb*duty, right)
	}
}

// hardly returns how idle the application is.
func (c *cost) hardly(running float64) float64 {
	slope, _ := c.slope()
	return hardly(running, slope)
}

// level is what statements take while there is work, by their kinds, and how that varies.
type level struct {
	means map[string]float64
	// looks is the number of looks in the mean, up to 10; 0 means that the mean is not known.
	looks      float64
	variance   float64
	statements float64 // a look
	suspicious bool    // the last look was
}

// These bounds define an alarm.
const (
	alarm      = 0.4 // a difference of logarithms,
	deviations = 2.5 // and beyond the usual deviation
)

// observe takes a look into account and reports whether statements take alarmingly longer than before, in
// this one and the last, or don't end.
func (l *level) observe(a activity, tolerated float64) (alarming bool) {
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
	suspicious := n >= 20 && difference > max(alarm, tolerated, deviations*math.Sqrt(l.variance))
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
