package sim

import (
	"errors"
	"slices"

	"midstream/internal/engine/frontier"
)

// predicate is P: a range of identities, or a list of spellings, and those of stale rows
// that joined it. It is rowsync's predicate over the model's tables.
type predicate struct {
	chunk    bool
	from, to int
	fresh    bool
	keys     []int
	extras   []int
	evict    bool

	handed frontier.Chunk
	loose  string // defect LooseBounds: what the keys begin with that the chunk selects besides
	view   []row  // defect OldReadView: the source when the chunk's bound was looked up
	shown  int    // group that must be visible before the keys are read
	done   bool   // committed
}

// selects says that a row of the source with that identity satisfies P.
func (p *predicate) selects(u *universe, id int) bool {
	if p.chunk && (p.from <= id && id < p.to || p.loose != "" && u.spellings[u.of[id][0]].first.folded == p.loose) {
		return true
	}
	same := func(s int) bool { return u.spellings[s].id == id }
	return slices.ContainsFunc(p.keys, same) || slices.ContainsFunc(p.extras, same)
}

// syncing is a sync that runs.
type syncing struct {
	p      *predicate
	read   bool
	rows   []row // of the source that satisfied P when it was read
	source []row // the source as it was then; nil before
	upsert bool  // nothing is deleted
}

// sees says that the sync, once committed, leaves the key as the given row.
func (s *syncing) sees(id int, r row) bool {
	return !s.read || s.source[id] == r && (r.there() || !s.upsert)
}

// contendedTries as in rowsync.
const contendedTries = 4

// sync follows rowsync.Syncer: the statements are the model's, the order of tries,
// waiting and widening is that of the package.
func (c *client) sync(p *process, pred *predicate) {
	for try := 1; ; try++ {
		p.wait(func() bool { return !c.alone && c.aloneAsked == 0 })
		err := c.once(p, pred)
		if err == nil {
			return
		}
		if errors.Is(err, errDuplicate) || try == contendedTries {
			c.syncAlone(p, pred)
			return
		}
		p.pause() // backs off
	}
}

func (c *client) syncAlone(p *process, pred *predicate) {
	if c.w.defect != NotAlone {
		c.aloneAsked++
		p.wait(func() bool { return !c.alone && len(c.running) == 0 })
		c.aloneAsked--
		c.alone = true
		defer func() { c.alone = false }()
	}
	for try := 1; ; try++ {
		err := c.once(p, pred)
		if err == nil {
			return
		}
		if try == aloneTries {
			c.w.fail("progress", "a sync that runs alone fails for the %dth time: %v", try, err)
		}
		if errors.Is(err, errDuplicate) {
			c.widen(p, pred)
		}
		p.pause()
	}
}

// aloneTries as in rowsync.
const aloneTries = 50

// once runs the statements of one sync.
func (c *client) once(p *process, pred *predicate) error {
	s := &syncing{p: pred}
	c.enter(s)
	t := c.begin()
	err := c.statements(p, t, s)
	if err == nil {
		if c.w.defect == EndEarly && pred.chunk {
			c.endChunk(p, pred.handed)
		}
		t.commit(p)
		pred.done = true
		p.pause() // the answer is on its way
	} else {
		c.w.passed.Repeated++
		c.w.note("rolls back: "+err.Error(), 0)
		t.rollback()
	}
	c.leave(s)
	return err
}

func (c *client) statements(p *process, t *txn, s *syncing) error {
	if view := s.p.view; view != nil {
		s.p.view = nil
		c.read(s, view)
	}
	if c.complete(s.p) {
		s.upsert = true
	} else if err := c.empty(p, t, s.p); err != nil {
		return err
	}
	p.pause()
	if s.source == nil {
		c.read(s, c.w.source)
	}
	for i, r := range s.rows {
		if i%c.w.opts.Piece == 0 {
			p.pause()
		}
		if s.upsert {
			if err := t.overwrite(p, r); err != nil {
				return err
			}
			continue
		}
		err := t.insert(p, r)
		if c.w.defect == IgnoreDuplicates && errors.Is(err, errDuplicate) {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// complete says that the source has a row for every key of the list, so that nothing need
// be deleted. It reads in a step of its own.
func (c *client) complete(pred *predicate) bool {
	if !c.w.opts.overwrites() || pred.chunk || pred.evict || len(pred.extras) > 0 {
		return false
	}
	there := 0
	for id, r := range c.w.source {
		if r.there() && pred.selects(c.w.keys, id) {
			there++
		}
	}
	return there == len(pred.keys) || c.w.defect == UpsertGone
}

// read takes the rows of P from a read view, which is that of this step.
func (c *client) read(s *syncing, view []row) {
	if s.p.shown >= c.w.visible {
		c.w.fail("L3", "keys are read before group %d is visible", s.p.shown)
	}
	if s.p.chunk && c.former != nil {
		view, c.former = c.former, nil
	}
	s.read, s.source = true, slices.Clone(view)
	for id, r := range s.source {
		if r.there() && s.p.selects(c.w.keys, id) {
			s.rows = append(s.rows, r)
		}
	}
	c.w.note("reads rows", len(s.rows))
}

// empty deletes P from the shadow.
func (c *client) empty(p *process, t *txn, pred *predicate) error {
	if pred.evict {
		if err := c.evict(p, t, pred); err != nil {
			return err
		}
	}
	deleted := func(r row) bool { return r.there() && c.deletes(pred, int(r.spelling)) }
	for i, n := 0, 0; i < len(c.w.shadow); i++ {
		if s := &c.w.shadow[i]; !deleted(s.row) && !deleted(s.old) {
			continue
		}
		if n++; n%c.w.opts.Piece == 0 {
			p.pause()
		}
		if err := t.removeIf(p, i, deleted); err != nil {
			return err
		}
	}
	return nil
}

// deletes says that a row of the shadow satisfies the P of the DELETE.
func (c *client) deletes(pred *predicate, s int) bool {
	u := c.w.keys
	if c.w.opts.KeyChanged {
		// Keys are joined by their bytes; a range goes by the shadow's order.
		return slices.Contains(pred.keys, s) ||
			pred.chunk && !pred.fresh && pred.fromRank(u) <= u.spellings[s].rank && u.spellings[s].rank < pred.toRank(u)
	}
	narrow := *pred
	narrow.chunk = pred.chunk && !pred.fresh
	return narrow.selects(u, u.spellings[s].id)
}

func (p *predicate) fromRank(u *universe) int {
	if p.from == 0 {
		return 0
	}
	return u.spellings[u.of[p.from][0]].rank
}

func (p *predicate) toRank(u *universe) int {
	if p.to == len(u.of) {
		return len(u.spellings)
	}
	return u.spellings[u.of[p.to][0]].rank
}
