package sim

import (
	"midstream/internal/engine/backlog"
	"midstream/internal/mysql/binlog"
)

// ledger is what capture and backlog must hold, kept from what goes in and comes out of
// them: which keys were received, in which segment, what was revealed, and who has
// taken it.
type ledger struct {
	c *client

	group    []int // spellings of the group being read
	prepared map[string][]int
	segments []segment // received and not revealed; the last one is open
	fenced   int       // segments sealed when the heartbeat that is on its way was written

	entries []entry // by spelling
	calls   []int   // how often Partition was asked since the last reveal, by spelling
	called  int
	dropped int64 // Counts.Dropped after the last reveal
	largest int   // most keys of one event
}

// segment is the keys received between two heartbeats, with the group that must be
// visible before each is revealed.
type segment struct {
	keys  []int
	shown []int
}

// entry is what is known of one key.
type entry struct {
	received int // segments that hold it
	ready    bool
	revealed bool // ever
	shown    int  // group that had to be visible for it
	passed   int  // batches of its worker that it was not in while nothing held it back
}

func newLedger(c *client) *ledger {
	n := len(c.w.keys.spellings)
	return &ledger{
		c: c, prepared: map[string][]int{}, segments: make([]segment, 1),
		entries: make([]entry, n), calls: make([]int, n),
	}
}

// handled follows Capture.Handle.
func (l *ledger) handled(e binlog.Event) {
	n := l.c.reader.group
	switch e := e.(type) {
	case binlog.Rows:
		if e.Watch != watchSource {
			return
		}
		for _, tuple := range e.Tuples {
			s := l.c.w.keys.byTuple[&tuple[0]]
			if e.MayBeXA {
				l.group = append(l.group, s)
			} else {
				l.add(s, n)
			}
		}
		l.largest = max(l.largest, len(e.Tuples))
	case binlog.Commit:
		for _, s := range l.group {
			l.add(s, n)
		}
		l.largest = max(l.largest, len(l.group))
		l.group = nil
	case binlog.XAPrepared:
		l.prepared[e.XID], l.group = l.group, nil
	case binlog.XAResolved:
		if e.Committed {
			for _, s := range l.prepared[e.XID] {
				l.add(s, n)
			}
			l.largest = max(l.largest, len(l.prepared[e.XID]))
		}
		delete(l.prepared, e.XID)
	}
}

func (l *ledger) add(s, shown int) {
	open := &l.segments[len(l.segments)-1]
	for i, other := range open.keys {
		if other == s {
			open.shown[i] = max(open.shown[i], shown)
			return
		}
	}
	open.keys, open.shown = append(open.keys, s), append(open.shown, shown)
	l.entries[s].received++
}

// seal closes the open segment as Backlog.Seal does.
func (l *ledger) seal() {
	if len(l.segments[len(l.segments)-1].keys) > 0 {
		l.segments = append(l.segments, segment{})
	}
}

// sealed follows the first half of Capture.Beat.
func (l *ledger) sealed() {
	l.seal()
	l.fenced = len(l.segments) - 1
}

// kept is told that Partition was asked for a key: it was revealed and not dropped.
func (l *ledger) kept(s int) {
	l.calls[s]++
	l.called++
}

// revealed follows the second half of Capture.Beat.
func (l *ledger) revealed() {
	if n := l.prefix(); n != l.fenced {
		l.c.w.fail("L3", "a heartbeat revealed %d segments, %d were sealed before it", n, l.fenced)
	}
	l.reveal(l.fenced)
}

// revealedAll follows Capture.RevealAll, which may keep segments back.
func (l *ledger) revealedAll() {
	l.seal()
	l.reveal(l.prefix())
}

// prefix tells how many segments were revealed, by the number of keys.
func (l *ledger) prefix() int {
	keys := l.called + int(l.c.backlog.Counts().Dropped-l.dropped)
	for n, s := range l.segments {
		if keys == 0 {
			return n
		}
		keys -= len(s.keys)
	}
	l.c.w.fail("L3", "%d keys were revealed that were not sealed", keys)
	return 0
}

// reveal moves the keys of the first segments on, and holds L3 and L4 against them.
func (l *ledger) reveal(n int) {
	for _, segment := range l.segments[:n] {
		for i, s := range segment.keys {
			e := &l.entries[s]
			e.received--
			law := "L3"
			if l.calls[s] == 0 {
				law = "L4"
				l.c.w.passed.Dropped++
				l.c.w.note("drops a key of row", l.c.w.keys.spellings[s].id)
				if id := l.c.w.keys.spellings[s].id; l.c.begun[id] {
					l.c.w.fail(law, "key %d is dropped, its range was handed out", id)
				}
			} else {
				e.ready, e.revealed = true, true
				e.shown = max(e.shown, segment.shown[i])
			}
			if segment.shown[i] >= l.c.w.visible {
				l.c.w.fail(law, "key %s is revealed, group %d is not visible", l.c.w.keys.name(s), segment.shown[i])
			}
		}
	}
	if n > 0 {
		l.c.wake++
	}
	l.segments = append([]segment(nil), l.segments[n:]...)
	l.fenced = max(0, l.fenced-n)
	clear(l.calls)
	l.called, l.dropped = 0, l.c.backlog.Counts().Dropped
}

// took follows a batch on its way out to a worker.
func (l *ledger) took(batch *backlog.Batch, worker int) *taken {
	l.countPassed(worker)
	pred := &predicate{shown: -1}
	for _, k := range batch.Keys {
		s := l.c.w.keys.byKey[k]
		e := &l.entries[s]
		if !e.revealed {
			l.c.w.fail("L3", "key %s is taken and was never revealed", l.c.w.keys.name(s))
		}
		e.ready, e.passed = false, 0
		pred.keys = append(pred.keys, s)
		pred.shown = max(pred.shown, e.shown)
	}
	return &taken{Batch: batch, pred: pred}
}

// countPassed holds against a worker that it passes a key over for ever. A key is
// passed by what was ready before it, and by what became ready while that was emptied.
func (l *ledger) countPassed(worker int) {
	if len(l.c.chunks) > 0 {
		return // keys wait for them
	}
	for s := range l.entries {
		e := &l.entries[s]
		if !e.ready || l.c.workerOf(s) != worker {
			continue
		}
		if e.passed++; e.passed > 2*len(l.entries)+1 {
			l.c.w.fail("no starvation", "key %s was passed over by %d batches", l.c.w.keys.name(s), e.passed)
		}
	}
}

func (l *ledger) returned(t *taken) {
	for _, s := range t.pred.keys {
		l.entries[s].ready = true
	}
}

// holds says that a key will still be synced.
func (l *ledger) holds(s int) bool {
	return l.entries[s].received > 0 || l.entries[s].ready
}
