package frontier

import (
	"errors"
	"fmt"

	"midstream/internal/engine/key"
)

// ErrRanges means that the ranges of a checkpoint contradict each other. Nothing was done; the row
// copy must begin again.
var ErrRanges = errors.New("the copied ranges contradict each other")

// Resume returns a tracker that treats the given ranges as copied, and everything else as ahead.
// The ranges are those of Copied, in its order. Resume trusts the order if the client can't
// compare.
func Resume(order Order, ranges []key.Range) (*Tracker, error) {
	t := &Tracker{order: order, next: 1}
	// The part from end on is not yet accounted for.
	end, open := key.Key(""), true
	for i, r := range ranges {
		if !open || i > 0 && r.From == "" || wrong(order, end, r.From, i == 0) || wrong(order, r.From, r.To, r.To == "") {
			return nil, fmt.Errorf("%w: range %d of %d", ErrRanges, i+1, len(ranges))
		}
		if r.From != end {
			t.parts = append(t.parts, part{Chunk: Chunk{Range: key.Range{From: end, To: r.From}}, state: ahead})
		}
		t.parts = append(t.parts, part{Chunk: Chunk{Range: r}, state: copied})
		end, open = r.To, r.To != ""
	}
	if open {
		t.parts = append(t.parts, part{Chunk: Chunk{Range: key.Range{From: end}}, state: ahead})
	}
	return t, nil
}

// wrong reports whether b is surely below a; it never is if the bound is none.
func wrong(order Order, a, b key.Key, none bool) bool {
	if none || a == "" {
		return false
	}
	c, known := order.Compare(a, b)
	return known && c > 0
}
