package throttle

import (
	"context"
	"sync"
	"time"
)

// Transit bounds the rows that are on their way to replicas: none of them may be far behind because
// of us. A gate closes only when a replica is already behind; rows that were committed until then
// come on top. Transit is safe for concurrent use.
//
// For each replica it is a window, like TCP's: the rows that are committed here and not there. The
// window grows while rows arrive soon. It shrinks if they take longer than the intended delay, as
// in RFC 6817: delay, not loss, shows that too much is on the way.
type Transit struct {
	mu sync.Mutex
	// aim is the time of a row from its commit here to its commit there.
	aim   time.Duration
	paths map[string]*path
	// begun counts rows of transactions that are not committed here yet.
	begun int
	last  uint64 // the youngest heartbeat that was written
	// changed is closed and replaced when there may be more room.
	changed chan struct{}
}

// path is the way to one replica.
type path struct {
	window   float64 // rows
	quick    bool    // it doubles, until rows came late
	underway []parcel
	rows     int // of them
}

// parcel is what one transaction has written.
type parcel struct {
	rows int
	beat uint64 // a heartbeat that was written later
	at   time.Time
}

const (
	firstRoom = 2000 // rows
	leastRoom = 200
)

// NewTransit returns a Transit that aims at a delay. It bounds nothing if no replica is expected.
func NewTransit(aim time.Duration) *Transit {
	return &Transit{aim: aim, paths: map[string]*path{}, changed: make(chan struct{})}
}

// Expect adds a replica: few rows are sent to it until the first have arrived.
func (t *Transit) Expect(replica string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paths[replica] == nil {
		t.paths[replica] = &path{window: firstRoom, quick: true}
	}
}

// Forget removes a replica that applies rows late on purpose: Transit does not wait for them.
func (t *Transit) Forget(replica string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.paths, replica)
	t.wake()
}

// Begin waits until rows may be written, and returns how many, at most the number asked for. The
// caller must pass that number to Ended. share is the part of the room that may be used.
func (t *Transit) Begin(ctx context.Context, rows int, share float64) (int, error) {
	for {
		t.mu.Lock()
		room, changed := t.room(rows, share), t.changed
		t.begun += room
		t.mu.Unlock()
		if room > 0 {
			return room, nil
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-changed:
		}
	}
}

// room returns how many of the rows may be written now; 0 if too few to be worth it. REQUIRES: mu
// is held.
func (t *Transit) room(rows int, share float64) int {
	for _, p := range t.paths {
		window := int(share * p.window)
		free := window - p.rows - t.begun
		switch {
		case p.rows+t.begun == 0:
			free = max(free, 1)
		case free < min(rows, window/4):
			return 0
		}
		rows = min(rows, free)
	}
	return rows
}

// Ended records that of the begun rows so many are committed.
func (t *Transit) Ended(begun, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun -= begun
	if rows > 0 {
		// The next heartbeat may be on its way already, before the rows.
		sent := parcel{rows: rows, beat: t.last + 2, at: time.Now()}
		for _, p := range t.paths {
			p.underway = append(p.underway, sent)
			p.rows += rows
		}
	}
	t.wake()
}

// Wrote records that a heartbeat was committed here.
func (t *Transit) Wrote(number uint64) {
	t.mu.Lock()
	t.last = number
	t.mu.Unlock()
}

// Arrived records that a heartbeat is on an expected replica.
func (t *Transit) Arrived(replica string, number uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.paths[replica]
	if p == nil {
		return
	}
	full := float64(p.rows+t.begun) >= p.window/2
	arrived, rows := 0, 0
	for _, sent := range p.underway {
		if sent.beat > number {
			break
		}
		arrived, rows = arrived+1, rows+sent.rows
	}
	if arrived > 0 {
		took := time.Since(p.underway[arrived-1].at)
		p.underway, p.rows = p.underway[arrived:], p.rows-rows
		p.adapt(rows, float64(took)/float64(t.aim), full)
	} else if len(p.underway) > 0 {
		if late := float64(time.Since(p.underway[0].at)) / float64(t.aim); late > 2 {
			p.quick, p.window = false, max(leastRoom, p.window*0.95) // at each look
		}
	}
	t.wake()
}

// adapt changes the window by what arrived: rows, after so much of the time aimed at, while the window was full.
func (p *path) adapt(rows int, took float64, full bool) {
	switch {
	case took > 1:
		p.quick = false
		p.window *= max(0.5, 1/took)
	case !full:
	case p.quick:
		p.window += float64(rows)
	default:
		p.window += 0.1 * (1 - took) * float64(rows)
	}
	p.window = max(leastRoom, p.window)
}

// Aim changes the delay; 0 takes the bound away.
func (t *Transit) Aim(delay time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.aim = delay; delay == 0 {
		clear(t.paths)
	}
	t.wake()
}

// wake makes all waiting goroutines check again. REQUIRES: mu is held.
func (t *Transit) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}
