package sim

import "slices"

// widen looks for the cause of a duplicate, as rowsync does: stale rows of the shadow
// join P, or are evicted where keys can't be compared. The source has no duplicates,
// so that taking one for real breaks the law.
func (c *client) widen(p *process, pred *predicate) {
	w := c.w
	w.passed.Widened++
	for j := range w.opts.Unique {
		p.pause()
		if id, other, found := c.twins(pred, j); found {
			w.fail("decision 3", "rows %d and %d of the source are taken for duplicates in column %d", id, other, j)
		}
	}
	if w.opts.KeyChanged {
		pred.evict = true
		return
	}
	pred.fresh = false
	for j := range w.opts.Unique {
		p.pause()
		pred.extras = append(pred.extras, c.staleHolders(pred, j)...)
	}
	w.note("takes stale rows into its predicate", len(pred.extras))
}

// twins looks for two rows of the source in P with one value.
func (c *client) twins(pred *predicate, j int) (id, other int, found bool) {
	holder := map[int16]int{}
	for id, r := range c.w.source {
		if !r.there() || r.unique[j] == 0 || !c.w.opts.KeyChanged && !pred.selects(c.w.keys, id) {
			continue
		}
		if other, is := holder[r.unique[j]]; is {
			return other, id, true
		}
		holder[r.unique[j]] = id
	}
	return 0, 0, false
}

// staleHolders lists the spellings of the shadow's rows outside of P that hold a value
// which a row of the source in P has now.
func (c *client) staleHolders(pred *predicate, j int) []int {
	u := c.w.keys
	var list []int
	for i := range c.w.shadow {
		holder := c.w.shadow[i].committed()
		if !holder.there() || holder.unique[j] == 0 || pred.selects(u, u.spellings[holder.spelling].id) {
			continue
		}
		for id, taker := range c.w.source {
			if taker.there() && taker.unique[j] == holder.unique[j] && pred.selects(u, id) {
				list = append(list, int(holder.spelling))
			}
		}
	}
	return list
}

// evict deletes the shadow's rows that hold the key or a unique value of a row of the
// source in P.
func (c *client) evict(p *process, t *txn, pred *predicate) error {
	u := c.w.keys
	for j := -1; j < c.w.opts.Unique; j++ {
		p.pause()
		view := slices.Clone(c.w.source)
		for id, taker := range view {
			if !taker.there() || !pred.selects(u, id) {
				continue
			}
			for i := range c.w.shadow {
				holds := func(r row) bool {
					return r.there() && (j < 0 && i == u.spellings[taker.spelling].slot ||
						j >= 0 && taker.unique[j] != 0 && r.unique[j] == taker.unique[j])
				}
				if err := t.removeIf(p, i, holds); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
