package backlog

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/tidwall/btree"

	"midstream/internal/engine/frontier"
	"midstream/internal/engine/key"
)

// Config of a backlog.
type Config struct {
	// Limit is the number of keys at which Full returns true. Then capture stops reading, and the
	// binlog on the server's disk is the queue. Defaults to 1,000,000.
	Limit int
	// Workers is the number of workers that take keys. Defaults to 1.
	Workers int
	// Partition assigns a key to one of n workers; keys that the server takes for
	// equal get the same one.
	Partition func(k key.Key, n int) int
	// KeepAhead keeps the keys above the frontier instead of dropping them, to
	// measure what the rule of law L4 is worth.
	KeepAhead bool
	// AwaitCopy makes a key that may be ahead of the row copy wait for the copy's end. It is for
	// shadows from which a chunk can't delete rows that apply has written ahead of it. Such keys
	// don't count towards the limit: if the copy had to wait for them, neither would ever end.
	AwaitCopy bool
	// Remember has the changed keys remembered (Remembered).
	Remember bool
	// KeepRepeats has a key synced once a change, to measure what merging is worth.
	KeepRepeats bool
}

// Counts are totals since the start.
type Counts struct {
	Added int64 // changes
	// Merged counts changes of a key that was already in the backlog.
	Merged  int64
	Dropped int64 // keys ahead of the row copy
	Synced  int64 // keys, each time that a batch with the key was done
}

// Batch is a set of keys that one worker syncs.
type Batch struct {
	Keys   []key.Key // in the order of their bytes
	worker int
	oldest uint64
}

// mostRemembered is the most keys that are remembered: beyond it, to compare all rows is as good.
const mostRemembered = 1_000_000

// afterCopy is the barrier that the end of the row copy passes.
const afterCopy = frontier.Finished - 1

// Backlog is safe for concurrent use.
type Backlog struct {
	cfg     Config
	tracker *frontier.Tracker

	mu     sync.Mutex
	open   set
	number uint64 // of the open segment
	sealed []set  // in order of their numbers
	queues []queue
	// repeats counts further syncs that a key is owed; only with KeepRepeats.
	repeats map[key.Key]int
	length  int // keys in all places
	resting resting
	watched map[key.Key]bool // true: changed since Watch
	counts  Counts
	// remembered are the changed keys; nil if there are too many, or none is to be remembered.
	remembered *btree.Set[key.Key]
	// changed is closed and replaced when a key may have become takeable, or keys fewer.
	changed chan struct{}
}

// set holds keys with the number of the oldest segment that any of them came in. They come out in
// the order of their bytes: rows that are close to each other are synced together, and a run of the
// simulation can be repeated. A million keys take a third of the memory of a hash table with a
// list.
type set struct {
	keys   *btree.Set[key.Key]
	oldest uint64
}

func newSet(oldest uint64) set { return set{keys: &btree.Set[key.Key]{}, oldest: oldest} }

func (s *set) empty() bool { return s.keys.Len() == 0 }

// cut removes and returns the first keys, up to most of them.
func (s *set) cut(most int) []key.Key {
	head := make([]key.Key, 0, min(most, s.keys.Len()))
	for len(head) < cap(head) {
		k, _ := s.keys.PopMin()
		head = append(head, k)
	}
	return head
}

// queue is what one worker may take, now or later.
type queue struct {
	draining set
	filling  set
	waiting  map[uint64]*set // by the awaited chunk's number
	taken    map[*Batch]struct{}
}

// New returns an empty backlog. Its first segment has number 1.
func New(cfg Config, tracker *frontier.Tracker) *Backlog {
	if cfg.Limit <= 0 {
		cfg.Limit = 1_000_000
	}
	if cfg.Workers <= 0 {
		cfg.Workers = 1
	}
	b := &Backlog{cfg: cfg, tracker: tracker, number: 1, open: newSet(1), changed: make(chan struct{})}
	if cfg.KeepRepeats {
		b.repeats = map[key.Key]int{}
	}
	if cfg.Remember {
		b.remembered = &btree.Set[key.Key]{}
	}
	for range cfg.Workers {
		b.queues = append(b.queues, queue{
			draining: newSet(0), filling: newSet(0),
			waiting: map[uint64]*set{}, taken: map[*Batch]struct{}{},
		})
	}
	return b
}

// Add puts a changed key into the open segment.
func (b *Backlog) Add(k key.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts.Added++
	if _, is := b.watched[k]; is {
		b.watched[k] = true
	}
	if b.remembered != nil {
		if b.remembered.Insert(k); b.remembered.Len() > mostRemembered {
			b.remembered = nil
		}
	}
	b.insert(&b.open, k)
}

// Remembered returns the keys that were added since the beginning, in order. all is false if there were more
// than mostRemembered, or Config.Remember is not set.
func (b *Backlog) Remembered() (keys []key.Key, all bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.remembered == nil {
		return nil, false
	}
	return b.remembered.Keys(), true
}

// Changed is the number of keys that Remembered returns, less those of unfit rows, which are not synced; nil if it does not have all.
func (b *Backlog) Changed(unfit int64) *int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.remembered == nil {
		return nil
	}
	n := max(0, int64(b.remembered.Len())-unfit)
	return &n
}

// AddUnknown adds a key that is to be remembered and is not yet. It does nothing if no keys are remembered any more.
func (b *Backlog) AddUnknown(k key.Key) {
	b.mu.Lock()
	unknown := b.remembered != nil && !b.remembered.Contains(k)
	b.mu.Unlock()
	if unknown {
		b.Add(k)
	}
}

// Watch begins to record which of the keys are changed, and forgets the keys of earlier calls.
func (b *Backlog) Watch(keys []key.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watched = make(map[key.Key]bool, len(keys))
	for _, k := range keys {
		b.watched[k] = false
	}
}

// Touched returns the watched keys that were added since Watch.
func (b *Backlog) Touched() map[key.Key]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	touched := map[key.Key]bool{}
	for k, changed := range b.watched {
		if changed {
			touched[k] = true
		}
	}
	return touched
}

// Pending returns the keys, among the given ones, that are not yet synced.
func (b *Backlog) Pending(keys []key.Key) map[key.Key]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	sets := append([]set{b.open}, b.sealed...)
	pending := map[key.Key]bool{}
	for i := range b.queues {
		q := &b.queues[i]
		sets = append(sets, q.draining, q.filling)
		for _, s := range q.waiting {
			sets = append(sets, *s)
		}
		for batch := range q.taken {
			for _, k := range batch.Keys {
				pending[k] = true
			}
		}
	}
	held := map[key.Key]bool{}
	for k := range b.resting.oldest {
		pending[k] = true
	}
	for _, k := range keys {
		if pending[k] || slices.ContainsFunc(sets, func(s set) bool { return s.keys.Contains(k) }) {
			held[k] = true
		}
	}
	return held
}

// insert adds a key to a set and counts it.
func (b *Backlog) insert(s *set, k key.Key) {
	if s.keys.Contains(k) {
		b.counts.Merged++
		if b.repeats != nil {
			b.repeats[k]++
		}
		return
	}
	s.keys.Insert(k)
	b.length++
}

// Seal closes the open segment, if it has any keys, and returns the number of the
// youngest sealed segment.
func (b *Backlog) Seal() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open.empty() {
		b.sealed = append(b.sealed, b.open)
		b.number++
		b.open = newSet(b.number)
	}
	return b.number - 1
}

// Reveal declares that every change in the segments up to the given one is visible to every read
// that starts from now on.
func (b *Backlog) Reveal(segment uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for ; n < len(b.sealed) && b.sealed[n].oldest <= segment; n++ {
		b.sealed[n].keys.Scan(func(k key.Key) bool {
			b.reveal(k, b.sealed[n].oldest)
			return true
		})
	}
	if n > 0 {
		b.sealed = append([]set(nil), b.sealed[n:]...)
		b.signal()
	}
}

func (b *Backlog) reveal(k key.Key, segment uint64) {
	b.length--
	place := b.tracker.Place(k)
	if place.Ahead && !b.cfg.KeepAhead {
		b.counts.Dropped++
		delete(b.repeats, k)
		return
	}
	if place.MayBeAhead && b.cfg.AwaitCopy {
		place.Barrier = afterCopy
	}
	q := &b.queues[b.cfg.Partition(k, len(b.queues))]
	if place.Barrier == 0 {
		if !b.rests(k, segment) {
			b.ready(q, k, segment)
		}
		return
	}
	s := q.waiting[place.Barrier]
	if s == nil {
		fresh := newSet(segment)
		s = &fresh
		q.waiting[place.Barrier] = s
	}
	b.insert(s, k)
}

// ready makes a key takeable: it joins the generation that holds it already, else
// the filling one.
func (b *Backlog) ready(q *queue, k key.Key, segment uint64) {
	if q.draining.keys.Contains(k) {
		q.draining.oldest = min(q.draining.oldest, segment)
		b.insert(&q.draining, k)
		return
	}
	if q.filling.empty() {
		q.filling.oldest = segment
	}
	q.filling.oldest = min(q.filling.oldest, segment)
	b.insert(&q.filling, k)
}

// signal wakes every goroutine that waits for a change.
func (b *Backlog) signal() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Wake has waiting workers look again: a chunk has ended, and with it a barrier.
func (b *Backlog) Wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.signal()
}

// Take waits until the worker has keys that may be synced and returns up to most of
// them. Once ctx has ended it takes nothing: where keys come faster than they are synced, apply could not stop otherwise.
// REQUIRES: the worker's previous batch was given back by Done or Return.
func (b *Backlog) Take(ctx context.Context, worker, most int) (*Batch, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		batch, changed := b.take(worker, most)
		if batch != nil {
			return batch, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-changed:
		}
	}
}

// TryTake is Take without the waiting; it returns nil if there is nothing to take.
func (b *Backlog) TryTake(worker, most int) *Batch {
	batch, _ := b.take(worker, most)
	return batch
}

func (b *Backlog) take(worker, most int) (*Batch, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := &b.queues[worker]
	b.passBarriers(q)
	if q.draining.empty() {
		q.draining, q.filling = q.filling, newSet(0)
	}
	if q.draining.empty() {
		return nil, b.changed
	}
	batch := &Batch{worker: worker, oldest: q.draining.oldest, Keys: q.draining.cut(most)}
	q.taken[batch] = struct{}{}
	return batch, nil
}

// passBarriers makes keys ready if their chunks are finished.
func (b *Backlog) passBarriers(q *queue) {
	if len(q.waiting) == 0 {
		return
	}
	oldest := b.tracker.OldestInFlight()
	for _, barrier := range slices.Sorted(maps.Keys(q.waiting)) {
		if barrier >= oldest {
			break
		}
		s := q.waiting[barrier]
		s.keys.Scan(func(k key.Key) bool {
			b.length--
			b.ready(q, k, s.oldest)
			return true
		})
		delete(q.waiting, barrier)
	}
}

// Done declares that the keys of a batch are synced and committed.
func (b *Backlog) Done(batch *Batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := &b.queues[batch.worker]
	delete(q.taken, batch)
	b.length -= len(batch.Keys)
	b.counts.Synced += int64(len(batch.Keys))
	b.noteSynced(batch.Keys)
	for _, k := range batch.Keys {
		if b.repeats[k] > 0 {
			if b.repeats[k]--; b.repeats[k] == 0 {
				delete(b.repeats, k)
			}
			b.ready(q, k, batch.oldest)
		}
	}
	b.signal()
}

// Return gives the keys of a batch back: they were not synced.
func (b *Backlog) Return(batch *Batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := &b.queues[batch.worker]
	delete(q.taken, batch)
	b.length -= len(batch.Keys)
	for _, k := range batch.Keys {
		b.ready(q, k, batch.oldest)
	}
	b.signal()
}

// Len returns the number of keys that are not yet synced, with the keys in flight.
func (b *Backlog) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.length
}

// Counts returns the totals.
func (b *Backlog) Counts() Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts
}

// Due is the number of keys that are not yet synced and don't await the end of the row copy.
func (b *Backlog) Due() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.due()
}

func (b *Backlog) due() int {
	due := b.length
	for i := range b.queues {
		if s := b.queues[i].waiting[afterCopy]; s != nil {
			due -= s.keys.Len()
		}
	}
	return due
}

// Full reports whether the limit is reached.
func (b *Backlog) Full() bool { return b.Due() >= b.cfg.Limit }

// WaitNotFull waits until the backlog is below its limit. Keys that are not yet revealed count, so
// another goroutine must keep sealing and revealing during the wait.
func (b *Backlog) WaitNotFull(ctx context.Context) error {
	for {
		b.mu.Lock()
		full, changed := b.due() >= b.cfg.Limit, b.changed
		b.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

// Again returns the keys that are not yet synced, and makes sure that each of them is synced at a
// later time than this call. A key that a worker has already taken counts as changed once more.
func (b *Backlog) Again() []key.Key { return b.AgainBut(nil) }

// AgainBut is Again without the keys that but reports; nil leaves none out.
func (b *Backlog) AgainBut(but func(key.Key) bool) []key.Key {
	if but == nil {
		but = func(key.Key) bool { return false }
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.queues {
		q := &b.queues[i]
		for batch := range q.taken {
			for _, k := range batch.Keys {
				if !but(k) {
					b.counts.Added++
					b.ready(q, k, batch.oldest)
				}
			}
		}
	}
	b.signal()
	keys := b.open.keys.Keys()
	for i := range b.sealed {
		keys = append(keys, b.sealed[i].keys.Keys()...)
	}
	for k := range b.resting.oldest {
		keys = append(keys, k)
	}
	for i := range b.queues {
		q := &b.queues[i]
		keys = append(append(keys, q.draining.keys.Keys()...), q.filling.keys.Keys()...)
		for _, s := range q.waiting {
			keys = append(keys, s.keys.Keys()...)
		}
	}
	return slices.DeleteFunc(keys, but)
}

// Oldest returns the number of the oldest segment with a key that may not be synced yet. Every
// change in an older segment is in the shadow, or the row copy has read it or will read it. A
// checkpoint's position is at that segment's start (L5).
func (b *Backlog) Oldest() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	oldest := b.number
	if len(b.sealed) > 0 {
		oldest = b.sealed[0].oldest
	}
	for _, segment := range b.resting.oldest {
		oldest = min(oldest, segment)
	}
	for i := range b.queues {
		q := &b.queues[i]
		for _, s := range []*set{&q.draining, &q.filling} {
			if !s.empty() {
				oldest = min(oldest, s.oldest)
			}
		}
		for _, s := range q.waiting {
			oldest = min(oldest, s.oldest)
		}
		for batch := range q.taken {
			oldest = min(oldest, batch.oldest)
		}
	}
	return oldest
}
