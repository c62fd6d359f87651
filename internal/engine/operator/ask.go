package operator

import (
	"context"
	"sync/atomic"
	"time"

	"midstream/internal/engine/event"
)

// Asked is somebody outside of the run who must agree before it changes its table: a hook, or readers of the binlog.
type Asked interface {
	// WhyNot returns why the table must not be changed yet; "" if it may, and then the phase begins. The run waits for
	// the answer, without a lock. An error ends the run.
	WhyNot(ctx context.Context, phase event.Phase) (string, error)
	// Every is the time between two questions, if the answer is no. It is more than 0.
	Every() time.Duration
}

// Ask has runs ask others before they change the table, one after the other. REQUIRES: no run is at work.
func (c *Control) Ask(asked ...Asked) { c.others.asked = append(c.others.asked, asked...) }

// others are those whom a run asks, and why one of them does not agree. It is safe for concurrent use.
type others struct {
	asked []Asked // set before a run begins
	why   atomic.Pointer[string]
}

// answer keeps what an answer says, for those who look why the run is held.
func (o *others) answer(why string) { o.why.Store(&why) }

// answered returns why one of the others does not agree; "" if no run waits for that.
func (o *others) answered() string {
	if why := o.why.Load(); why != nil {
		return *why
	}
	return ""
}

// answeredOne returns why others keep a run or one of its partners from the swap; "" if none does.
func answeredOne(all []*Control) string {
	for _, each := range all {
		if why := each.others.answered(); why != "" {
			return why
		}
	}
	return ""
}

// questions are those of one wait.
type questions struct {
	of    Permission
	why   string // the last answer
	after time.Time
}

// again asks at once.
func (q *questions) again() { q.after = time.Time{} }

// ask returns why the others do not agree. It asks again when it is time, and returns the last answer until then.
func (q *questions) ask(ctx context.Context) (why string, err error) {
	c := q.of.Control
	if when, waived := c.when(); waived && !when.Follow || !q.of.Swaps { // midstream undo waives a follower's window, and not the others
		c.others.answer("")
		return "", nil
	}
	if time.Now().Before(q.after) {
		return q.why, nil
	}
	q.why = ""
	for _, other := range c.others.asked {
		if q.why, err = other.WhyNot(ctx, q.of.Next); err != nil {
			return "", err
		}
		if q.why != "" {
			q.after = time.Now().Add(other.Every())
			break
		}
	}
	c.others.answer(q.why)
	return q.why, nil
}
