package sim

import "errors"

// What a statement on the shadow can fail with.
var (
	errDuplicate = errors.New("duplicate value")
	errContended = errors.New("deadlock or lock wait timeout")
)

// slot is the place of one key in the shadow.
type slot struct {
	row   row  // as the owner of the lock has left it
	old   row  // as it was committed before, while there is an owner
	owner *txn // of the row lock
}

// committed is what a consistent read sees.
func (s *slot) committed() row {
	if s.owner != nil {
		return s.old
	}
	return s.row
}

// txn is a transaction on the shadow.
type txn struct {
	w       *world
	of      *client
	locks   []int
	waits   *txn // the owner of the lock that it waits for
	sent    bool // COMMIT is on its way to the server, or carried out
	written bool // it stands in the binlog
	ended   bool
}

func (c *client) begin() *txn {
	t := &txn{w: c.w, of: c}
	c.w.open = append(c.w.open, t)
	return t
}

func (t *txn) put(i int, r row) {
	s := &t.w.shadow[i]
	if s.owner == nil {
		s.owner, s.old = t, s.row
		t.locks = append(t.locks, i)
	}
	s.row = r
}

// lock waits until nobody else holds the row's lock.
func (t *txn) lock(p *process, i int) error {
	s := &t.w.shadow[i]
	for s.owner != nil && s.owner != t {
		owner := s.owner
		for o := owner; o != nil; o = o.waits {
			if o == t {
				return errContended
			}
		}
		t.waits = owner
		t.w.note("waits for the lock of slot", i)
		p.wait(func() bool { return owner.ended })
		t.waits = nil
		if t.w.roll(t.w.opts.Timeout) {
			return errContended
		}
	}
	return nil
}

// removeIf deletes the row in a slot if it is one of those looked for. Whether it is
// may depend on a transaction that has locked it.
func (t *txn) removeIf(p *process, i int, is func(row) bool) error {
	s := &t.w.shadow[i]
	if !is(s.row) && !is(s.old) {
		return nil
	}
	if err := t.lock(p, i); err != nil {
		return err
	}
	if is(s.row) {
		t.put(i, row{})
	}
	return nil
}

// insert puts a row into the shadow.
func (t *txn) insert(p *process, r row) error {
	place := t.w.keys.spellings[r.spelling].slot
	for {
		i, conflict := t.conflict(place, r)
		if !conflict {
			t.put(place, r)
			return nil
		}
		if s := &t.w.shadow[i]; s.owner == nil || s.owner == t {
			return errDuplicate
		}
		if err := t.lock(p, i); err != nil {
			return err
		}
	}
}

// overwrite puts a row in the place of the one that has its key, if there is one.
// REQUIRES: no other column is unique.
func (t *txn) overwrite(p *process, r row) error {
	place := t.w.keys.spellings[r.spelling].slot
	if err := t.lock(p, place); err != nil {
		return err
	}
	t.put(place, r)
	return nil
}

// conflict finds a row in the way: one with the same key or a unique value, or a lock on
// one that has or had it.
func (t *txn) conflict(place int, r row) (int, bool) {
	if s := &t.w.shadow[place]; s.row.there() || s.owner != nil && s.owner != t {
		return place, true
	}
	for j := range t.w.opts.Unique {
		v := r.unique[j]
		if v == 0 {
			continue
		}
		for i := range t.w.shadow {
			s := &t.w.shadow[i]
			foreign := s.owner != nil && s.owner != t
			if s.row.unique[j] == v || foreign && s.old.unique[j] == v {
				return i, true
			}
		}
	}
	return 0, false
}

// commit waits until the server has committed.
func (t *txn) commit(p *process) {
	t.sent = true
	p.pause()
	n := t.write()
	p.wait(t.w.shown(n))
}

// write puts the transaction into the binlog.
func (t *txn) write() int {
	t.written = true
	return t.w.write(group{commit: t.end}, commitEvent)
}

func (t *txn) end() {
	for _, i := range t.locks {
		t.w.shadow[i].owner, t.w.shadow[i].old = nil, row{}
	}
	t.close()
}

func (t *txn) rollback() {
	for _, i := range t.locks {
		t.w.shadow[i].row = t.w.shadow[i].old
	}
	t.end()
}

func (t *txn) close() {
	t.ended = true
	for i, other := range t.w.open {
		if other == t {
			t.w.open = append(t.w.open[:i:i], t.w.open[i+1:]...)
			return
		}
	}
}
