package deadline

import (
	"iter"
	"math"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/forecast"
	"midstream/internal/engine/window"
)

// These constants define how the limit follows the deadline.
const (
	// Gentlest is the lowest factor: a fifth of --max-slowdown. The effect of less cannot be measured.
	Gentlest = 0.2
	// reserve is the share of the time to the deadline that is planned to be left at the end. It
	// is for a load that rises late.
	reserve = 0.025
	// leastReserve is the least of it, up to the share leastShare of the time: the last looks and steps
	// take some seconds.
	leastReserve = 3 * time.Second
	leastShare   = 0.04
	// late is the share of the reserve that must be left: with less, the limit is raised.
	late = 0.35
	// early is the share of the time left, beyond the reserve, from which the limit is lowered.
	early = 0.12
	// harsher and gentler bound one step.
	harsher, gentler = 1.5, 0.7
	// small is the smallest step that is worth it.
	small = 0.04
	// settling is the time that the governor needs for another limit. It is less if the deadline is
	// so near that the share hurry of its time is less.
	settling = 8 * time.Second
	hurry    = 0.03
	// starting is the first share of the time to the deadline, and mostStart the most of it, in which the
	// governor knows nothing yet: the rate shows where it began, not what the limit brings.
	starting  = 0.07
	mostStart = 8 * time.Second
	// brief is a time that is too short to measure a rate.
	brief = 500 * time.Millisecond
	// enough is the number of looks from which the rate is known.
	enough = 3
)

// The rate is taken as proportional to a power of the factor: 1 if twice the limit makes twice the
// rate, and 0 if the limit has no effect. The power is learned from steps.
const (
	guessedPower          = 0.85
	guessWeight           = 0.5 // as the square of a step
	leastPower, mostPower = 0.35, 1.0
	mostMemory            = 240 // looks
)

// Look is what is known about a run at one moment.
type Look = forecast.Look

// Aim is what the work is to meet.
type Aim struct {
	By time.Time
	// Least and Most are the lowest and the highest factor. If they are equal, the limit stays.
	Least, Most float64
	// Hours are when the work may be done.
	Hours window.Window
	// Loads and Sensitivity are how fast it is then, as forecast.Calendar has them.
	Loads       forecast.Profile
	Sensitivity float64
}

// calendar is when the work may be done, and how fast it is then.
func (a Aim) calendar() forecast.Calendar {
	return forecast.Calendar{Hours: a.Hours, Loads: a.Loads, Sensitivity: a.Sensitivity}
}

// The states of a deadline.
const (
	Unknown    = event.DeadlineUnknown
	Meets      = event.DeadlineMet
	Behind     = event.DeadlineBehind
	Impossible = event.DeadlineImpossible
)

// Verdict is what a Course answers.
type Verdict struct {
	State  event.DeadlineState
	Factor float64 // of the limit from now on
	// Expected is when the run will end; zero if that is not known.
	Expected time.Time
}

// sample is the rate between two looks.
type sample struct {
	over         time.Duration
	rate, factor float64 // the rate is that of an idle server
	settled      bool    // the factor has held for all of it
}

// Course learns which rate comes of which limit, and chooses the limit. It is not safe for
// concurrent use.
type Course struct {
	factor  float64
	last    Look
	began   time.Time // the aim has held since
	by      time.Time // of the aim
	samples []sample
	first   time.Time // the first look that knew the work
	stepped time.Time // the last step
	// xx and xy are the sums over steps of the squared change of the factor's logarithm, and of its
	// product with the rate's.
	xx, xy float64
}

// NewCourse returns a course that begins with a limit.
func NewCourse(factor float64) *Course { return &Course{factor: factor} }

// Next takes a look into account, and returns what holds from now on.
func (c *Course) Next(l Look, aim Aim) Verdict {
	if !aim.By.Equal(c.by) {
		c.by, c.began = aim.By, l.At
	}
	c.observe(l, aim)
	c.factor = min(max(c.factor, aim.Least), aim.Most)
	if l.Left <= 0 {
		return c.verdict(l.At.Add(l.Fixed), aim)
	}
	rate := c.rate(l, aim)
	if rate <= 0 {
		v := Verdict{State: Unknown, Factor: c.factor}
		if aim.Hours.Within(l.At, aim.By) == 0 { // at no rate
			v.State = Impossible
		}
		return v
	}
	finish, was := aim.finish(l, rate), c.factor
	if c.settled(l.At) {
		if c.factor = c.choose(l, aim, rate, finish); c.factor != was {
			c.stepped = l.At
		}
	}
	if c.factor < was {
		return c.verdict(aim.finish(l, rate*math.Pow(c.factor/was, c.power())), aim)
	}
	v := c.verdict(finish, aim)
	switch {
	case v.State != Impossible:
	case was == aim.Most:
	case aim.finish(l, rate*aim.Most/was).After(aim.By): // even if the rate rises as much as the limit
		v.Expected = aim.finish(l, rate*math.Pow(aim.Most/was, c.power()))
	default:
		v.State = Behind
	}
	return v
}

// verdict compares the expected end with the aim.
func (c *Course) verdict(finish time.Time, aim Aim) Verdict {
	v := Verdict{State: Meets, Factor: c.factor, Expected: finish}
	if finish.After(aim.By) {
		v.State = Impossible
	}
	return v
}

// observe learns from the work since the last look.
func (c *Course) observe(l Look, aim Aim) {
	before, over := c.last, l.At.Sub(c.last.At)
	if over < brief && !l.Held {
		return
	}
	c.last = l
	if c.first.IsZero() {
		c.first = l.At
	}
	if before.At.IsZero() || l.Held || over <= 0 || c.starts(l.At) {
		return
	}
	s := sample{over: over, rate: max(0, l.Done-before.Done) / aim.idling(before.At, over), factor: c.factor, settled: c.settled(l.At)}
	if n := len(c.samples); n > 0 && s.settled {
		c.learn(s)
	}
	if c.samples = append(c.samples, s); len(c.samples) > mostMemory {
		c.samples = c.samples[1:]
	}
}

// idling is the time in seconds that an idle server needs for what is done in a time.
func (a Aim) idling(from time.Time, over time.Duration) float64 {
	return forecast.Calendar{Loads: a.Loads, Sensitivity: a.Sensitivity}.Within(from, from.Add(over)).Seconds()
}

// starts reports whether the run has just begun.
func (c *Course) starts(now time.Time) bool {
	return now.Sub(c.first) < min(mostStart, time.Duration(starting*float64(c.by.Sub(c.began))))
}

// settled reports whether the last step has had its effect.
func (c *Course) settled(now time.Time) bool {
	return now.Sub(c.stepped) >= min(settling, time.Duration(hurry*float64(c.by.Sub(c.began))))
}

// learn compares a sample with the last one before a step, if there was a step.
func (c *Course) learn(now sample) {
	for i := len(c.samples) - 1; i >= 0; i-- {
		before := c.samples[i]
		if !before.settled {
			continue
		}
		if before.factor != now.factor && before.rate > 0 && now.rate > 0 {
			x, y := math.Log(now.factor/before.factor), math.Log(now.rate/before.rate)
			c.xx, c.xy = c.xx+x*x, c.xy+x*y
		}
		return
	}
}

// power is the exponent of the factor in the rate.
func (c *Course) power() float64 {
	return min(mostPower, max(leastPower, (c.xy+guessWeight*guessedPower)/(c.xx+guessWeight)))
}

// rate is what the present limit will bring, as far as the samples show: the mean over about as
// long as the time left, at most an hour or so, each sample as if it had had this limit. 0 means
// that it is not known.
func (c *Course) rate(l Look, aim Aim) float64 {
	rate, known := forecast.Mean(c.asNow(), min(max(aim.By.Sub(l.At), 0), time.Hour))
	if known < enough {
		return 0
	}
	return rate
}

// asNow yields the samples as if each had had the present limit, the newest first.
func (c *Course) asNow() iter.Seq[forecast.Sample] {
	return func(yield func(forecast.Sample) bool) {
		power, factor, scale := c.power(), c.factor, 1.0
		for i := len(c.samples) - 1; i >= 0; i-- {
			s, weight := c.samples[i], 1.0
			if !s.settled {
				weight = 0.25
			}
			if s.factor != factor {
				factor, scale = s.factor, math.Pow(c.factor/s.factor, power)
			}
			if !yield(forecast.Sample{Over: s.over, Rate: s.rate * scale, Weight: weight}) {
				return
			}
		}
	}
}

// choose returns the next factor.
func (c *Course) choose(l Look, aim Aim, rate float64, finish time.Time) float64 {
	all := aim.By.Sub(c.began)
	spare := max(time.Duration(reserve*float64(all)), min(leastReserve, time.Duration(leastShare*float64(all))))
	target := aim.By.Add(-spare)
	left := target.Sub(l.At)
	switch {
	case finish.After(aim.By.Add(-time.Duration(late * float64(spare)))):
	case left > 2*spare && finish.Before(target.Add(-max(spare, time.Duration(early*float64(left))))):
	default:
		return c.factor
	}
	next := aim.Most
	if time := aim.calendar().Within(l.At, target) - l.Fixed; time > 0 {
		needed := l.Left / time.Seconds()
		next = c.factor * math.Pow(needed/rate, 1/c.power())
	}
	next = short(min(max(next, gentler*c.factor), harsher*c.factor))
	next = min(max(next, aim.Least), aim.Most)
	if math.Abs(math.Log(next/c.factor)) < small && next != aim.Most {
		return c.factor
	}
	return next
}

// short cuts a factor to three digits, for people.
func short(factor float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(factor))-2)
	return math.Floor(factor/unit+1e-9) * unit
}

// far is the longest forecast.
const far = 365 * 24 * time.Hour

// finish returns when the work ends at a rate.
func (a Aim) finish(l Look, rate float64) time.Time {
	seconds := l.Left / rate
	if seconds > far.Seconds() {
		return l.At.Add(far)
	}
	return a.calendar().End(l.At, time.Duration(seconds*float64(time.Second))).Add(l.Fixed)
}
