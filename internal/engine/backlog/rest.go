package backlog

import (
	"time"

	"midstream/internal/engine/key"
)

// mostResting is the most keys that rest at once: a run that is about to swap must sync them first.
const mostResting = 500

// resting are keys that were synced a short time ago, and have changed again.
type resting struct {
	least  time.Duration         // between two syncs of a key; 0: no key rests
	synced map[key.Key]time.Time // when keys were synced last
	oldest map[key.Key]uint64    // the segments of keys that rest
	pruned time.Time
}

// Rest sets the least time between two syncs of a key, and makes the keys takeable that have rested for so long. With 0 no
// key rests. Call it again and again. A row that changes with each transaction then costs the server little.
func (b *Backlog) Rest(least time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, now, woken := &b.resting, time.Now(), false
	if least > 0 && r.synced == nil {
		r.synced, r.oldest, r.pruned = map[key.Key]time.Time{}, map[key.Key]uint64{}, now
	}
	r.least = least
	for k, segment := range r.oldest {
		if now.Sub(r.synced[k]) < least {
			continue
		}
		delete(r.oldest, k)
		b.length--
		b.ready(&b.queues[b.cfg.Partition(k, len(b.queues))], k, segment)
		woken = true
	}
	if woken {
		b.signal()
	}
	switch {
	case least <= 0:
		r.synced, r.oldest = nil, nil
	case now.Sub(r.pruned) > least:
		r.pruned = now
		for k, at := range r.synced {
			if _, rests := r.oldest[k]; !rests && now.Sub(at) >= least {
				delete(r.synced, k)
			}
		}
	}
}

// rests lets a key rest that would be takeable, if it was synced a short time ago. REQUIRES: mu is held.
func (b *Backlog) rests(k key.Key, segment uint64) bool {
	r := &b.resting
	if r.least <= 0 {
		return false
	}
	if _, already := r.oldest[k]; already {
		b.counts.Merged++
		return true
	}
	at, synced := r.synced[k]
	if !synced || len(r.oldest) >= mostResting || time.Since(at) >= r.least {
		return false
	}
	r.oldest[k] = segment
	b.length++
	return true
}

// noteSynced remembers when keys were synced. REQUIRES: mu is held.
func (b *Backlog) noteSynced(keys []key.Key) {
	if b.resting.least <= 0 {
		return
	}
	now := time.Now()
	for _, k := range keys {
		b.resting.synced[k] = now
	}
}
