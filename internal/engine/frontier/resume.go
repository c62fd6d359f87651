package frontier

import (
	"errors"
	"fmt"

	"midstream/internal/engine/key"
)

// ErrRanges says that the ranges of a checkpoint contradict each other. Nothing was
// done; the row copy can only be begun anew.
var ErrRanges = errors.New("the copied ranges contradict each other")

// Resume returns a tracker that takes the given ranges, which are those of Copied in
// its order, for copied and has all else ahead. The order is taken on trust where the
// client can't compare.
func Resume(order Order, ranges []key.Range) (*Tracker, error) {
	t := &Tracker{order: order, next: 1}
	end, open := key.Key(""), true // what lies from end on is not yet accounted for
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

// wrong says that b is surely below a; a bound that is none is never.
func wrong(order Order, a, b key.Key, none bool) bool {
	if none || a == "" {
		return false
	}
	c, known := order.Compare(a, b)
	return known && c > 0
}
