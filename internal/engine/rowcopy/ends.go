package rowcopy

import (
	"context"
	"sync/atomic"

	"midstream/internal/engine/frontier"
	"midstream/internal/engine/key"
)

// mostAhead is the number of chunks whose ends are found by one query, and mostPassed bounds the index
// entries that the query passes over for that: it begins anew for each end.
const (
	mostAhead  = 16
	mostPassed = 50_000
)

// ends hands out chunks in the order of their keys, to one worker at a time. The end of a chunk takes a
// query, and on a far server that is a round trip. So a worker whose turn it is asks for the ends of all
// workers that wait, by one query, and each takes one as soon as it comes. No end is older than the wait
// of a worker: during a pause none is left.
type ends struct {
	turn    chan struct{} // has room for the worker whose turn it is
	waiting atomic.Int64  // workers

	// Of the worker whose turn it is:
	found []key.Key // the ends of the next chunks; "": the end of the part
	rows  int       // of each
}

func newEnds() *ends { return &ends{turn: make(chan struct{}, 1)} }

// handOut hands out the next chunk, of about so many rows, if there is one. find finds the ends of so
// many chunks of so many rows in a range, or fewer; read means that it was called.
func (e *ends) handOut(
	ctx context.Context, tracker *frontier.Tracker, rows int, find func(rest key.Range, rows, chunks int) ([]key.Key, error),
) (chunk frontier.Chunk, more, read bool, err error) {
	e.waiting.Add(1)
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		e.waiting.Add(-1)
		return chunk, false, false, context.Cause(ctx)
	}
	defer func() { <-e.turn }()
	others := int(e.waiting.Add(-1))
	rest, more := tracker.Next()
	if !more {
		return chunk, false, false, nil
	}
	if len(e.found) == 0 || e.rows > rows { // or they are of workers that may write more
		if e.found, err = find(rest, rows, chunksFor(1+others, rows)); err != nil {
			e.found = nil
			return chunk, false, true, err
		}
		e.rows, read = rows, true
	}
	to := e.found[0]
	e.found = e.found[1:]
	return tracker.Begin(to), true, read, nil
}

// chunksFor is the number of chunks of so many rows whose ends are found at once for so many workers.
func chunksFor(workers, rows int) int {
	chunks := min(workers, mostAhead)
	for chunks > 1 && chunks*(chunks+1)/2*rows > mostPassed {
		chunks--
	}
	return chunks
}
