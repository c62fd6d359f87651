package throttle

import "time"

// StatementTimes are what the application's statements take on the server, on average over all kinds
// that are looked at; 0 where that is not known.
type StatementTimes struct {
	PerSecond float64       // statements that end
	Now       time.Duration // in the last second or so
	Alone     time.Duration // while none of our work runs
}

// statements sums up the observed statements; older ones weigh less.
type statements struct{ now, alone fading }

// fading holds sums of observations. Each new one weakens the older ones.
type fading struct {
	statements, seconds, over float64
	sessions                  float64 // of the last observations, at most
}

// These factors are the remaining weight of older observations after a look or a rest.
const (
	pastLook = 0.8
	pastRest = 0.7
)

func (s *statements) observe(a activity) { s.now.add(pastLook, a) }
func (s *statements) rested(a activity)  { s.alone.add(pastRest, a) }

func (s *statements) times() StatementTimes {
	return StatementTimes{PerSecond: ratio(s.now.statements, s.now.over), Now: s.now.mean(), Alone: s.alone.mean()}
}

func (f *fading) add(left float64, a activity) {
	sum := a.sum()
	f.statements = left*f.statements + float64(sum.n)
	f.seconds = left*f.seconds + sum.took.Seconds()
	f.over = left*f.over + a.over.Seconds()
	f.sessions = max(left*f.sessions, float64(a.sessions))
}

// running is how many statements ran on average (Little's law).
func (f fading) running() float64 { return ratio(f.seconds, f.over) }

// used is the part of the time in which a session of the application waits for a statement, 0 to 1. If the
// sessions are not known, it is 1.
func (f fading) used() float64 {
	if f.sessions < 1 {
		return 1
	}
	return min(1, f.running()/f.sessions)
}

func (f fading) mean() time.Duration {
	return time.Duration(ratio(f.seconds, f.statements) * float64(time.Second))
}

func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}
