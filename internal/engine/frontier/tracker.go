package frontier

import (
	"math"
	"sync"

	"midstream/internal/engine/key"
)

// Order compares two keys as the server does; known is false where only the
// server can.
type Order interface {
	Compare(a, b key.Key) (order int, known bool)
}

// Chunk is one range in flight.
type Chunk struct {
	Number uint64 // 1, 2, 3, ... in key order
	Range  key.Range
}

// Place is a changed key's place relative to the row copy.
type Place struct {
	// Ahead means that the row copy has yet to read the key (law L4).
	Ahead bool
	// MayBeAhead means that the client can't know whether the row copy has yet to read the key.
	MayBeAhead bool
	// Barrier is the number of a chunk: it and all chunks before it must be finished before the key
	// may be synced. 0 means none.
	Barrier uint64
}

// Tracker is safe for concurrent use.
type Tracker struct {
	order Order

	mu   sync.Mutex
	next uint64
	// parts are in key order, without gaps; copied neighbours are joined.
	parts []part
}

// part is a stretch of the key space that is in one state.
type part struct {
	Chunk // Number only while in flight
	state state
}

type state int

const (
	ahead state = iota // not handed out
	inFlight
	copied
)

// New returns a tracker that has handed out nothing yet.
func New(order Order) *Tracker {
	return &Tracker{order: order, next: 1, parts: []part{{state: ahead}}}
}

// Next returns the first part that has not been handed out, and whether there is one.
// Its start is the frontier.
func (t *Tracker) Next() (rest key.Range, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.first(ahead); i >= 0 {
		return t.parts[i].Range, true
	}
	return key.Range{}, false
}

// first returns the index of the first part in a state, or -1.
func (t *Tracker) first(s state) int {
	for i := range t.parts {
		if t.parts[i].state == s {
			return i
		}
	}
	return -1
}

// Begin hands out the range from the frontier to the given key, and moves the frontier to that key.
// The zero key hands out all of the part that Next returned. REQUIRES: Next returned a part, the
// key is inside of it or is its end, and one caller at a time decides about the next bound.
func (t *Tracker) Begin(to key.Key) Chunk {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.first(ahead)
	rest := t.parts[i].Range
	if to == "" {
		to = rest.To
	}
	c := Chunk{Number: t.next, Range: key.Range{From: rest.From, To: to}}
	t.next++
	begun := []part{{Chunk: c, state: inFlight}}
	if to != rest.To {
		begun = append(begun, part{Chunk: Chunk{Range: key.Range{From: to, To: rest.To}}, state: ahead})
	}
	t.replace(i, i+1, begun...)
	return c
}

func (t *Tracker) replace(from, to int, with ...part) {
	tail := append(with, t.parts[to:]...)
	t.parts = append(t.parts[:from:from], tail...)
}

// End records that a chunk is committed.
func (t *Tracker) End(c Chunk) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.parts {
		if p := &t.parts[i]; p.state == inFlight && p.Number == c.Number {
			t.join(i)
			return
		}
	}
}

// join makes a part copied, and one with the neighbours that are.
func (t *Tracker) join(i int) {
	from, to := i, i+1
	if i > 0 && t.parts[i-1].state == copied {
		from--
	}
	if to < len(t.parts) && t.parts[to].state == copied {
		to++
	}
	joined := key.Range{From: t.parts[from].Range.From, To: t.parts[to-1].Range.To}
	t.replace(from, to, part{Chunk: Chunk{Range: joined}, state: copied})
}

// Copied returns the ranges that are committed, in key order, joined where they touch.
// Their number is at most that of the workers, and after Resume that of the ranges then
// copied more.
func (t *Tracker) Copied() []key.Range {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ranges []key.Range
	for i := range t.parts {
		if t.parts[i].state == copied {
			ranges = append(ranges, t.parts[i].Range)
		}
	}
	return ranges
}

// Complete reports whether every range is committed.
func (t *Tracker) Complete() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first(ahead) < 0 && t.first(inFlight) < 0
}

// Place returns what a changed key has to wait for. REQUIRES: the change is visible to every read
// that starts from now on (law L4).
func (t *Tracker) Place(k key.Key) Place {
	t.mu.Lock()
	defer t.mu.Unlock()
	var place Place
	for i := range t.parts {
		p := &t.parts[i]
		if p.state == copied {
			continue
		}
		switch contained, known := t.contains(p.Range, k); {
		case p.state == ahead && contained && known:
			return Place{Ahead: true}
		case p.state == ahead && contained:
			place.MayBeAhead = true
		case p.state == inFlight && contained:
			place.Barrier = max(place.Barrier, p.Number)
		}
	}
	return place
}

// contains reports whether the range contains the key; if that is not known, it reports that it
// may.
func (t *Tracker) contains(r key.Range, k key.Key) (contained, known bool) {
	known = true
	if r.From != "" {
		c, sure := t.order.Compare(k, r.From)
		if sure && c < 0 {
			return false, true
		}
		known = sure
	}
	if r.To != "" {
		c, sure := t.order.Compare(k, r.To)
		if sure && c >= 0 {
			return false, true
		}
		known = known && sure
	}
	return true, known
}

// Finished is a number above the numbers of all chunks.
const Finished = math.MaxUint64

// OldestInFlight returns the number of the oldest chunk in flight. If there is none, it returns the
// number that the next chunk will have, or Finished if there will be none. Barriers below it are
// passed.
func (t *Tracker) OldestInFlight() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.first(inFlight); i >= 0 {
		return t.parts[i].Number
	}
	if t.first(ahead) < 0 {
		return Finished
	}
	return t.next
}
