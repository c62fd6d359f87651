package sim

import (
	"strings"

	"midstream/internal/engine/frontier"
	"midstream/internal/engine/key"
)

// order is what the tracker compares keys with.
func (c *client) order() frontier.Order {
	switch c.w.defect {
	case ClaimOrder:
		return orderOf(func(a, b key.Key) (int, bool) { return strings.Compare(string(a), string(b)), true })
	case DropInFlight:
		return orderOf(c.compareLate)
	}
	return c.w.keys.codec
}

type orderOf func(a, b key.Key) (int, bool)

func (f orderOf) Compare(a, b key.Key) (int, bool) { return f(a, b) }

// compareLate has the frontier one chunk too low: defect DropInFlight.
func (c *client) compareLate(a, b key.Key) (int, bool) {
	if n := len(c.chunks); n > 0 {
		youngest := c.chunks[n-1]
		id := c.w.keys.id(a)
		if youngest.handed.Range.To == b && youngest.from <= id && id < youngest.to {
			return 0, true
		}
	}
	return c.w.keys.codec.Compare(a, b)
}

// placer is the tracker that tells the backlog what a key waits for: the row copy's own.
func (c *client) placer() *frontier.Tracker {
	if c.w.defect != IgnoreBarriers {
		return c.tracker
	}
	placing, err := frontier.Resume(c.order(), c.tracker.Copied())
	if err != nil {
		panic(err)
	}
	c.placing = placing
	return placing
}

// loose returns what both bounds begin with, if that is a string which they spell in two
// ways: defect LooseBounds.
func (u *universe) loose(r key.Range) string {
	if r.From == "" || r.To == "" {
		return ""
	}
	from, to := u.spellings[u.byKey[r.From]].first, u.spellings[u.byKey[r.To]].first
	if from.folded != to.folded || from.text == to.text {
		return ""
	}
	return from.folded
}
