package sim

// operation does one statement's work, or nothing where the rows or values that it
// drew are locked.
func (d *draft) operation() {
	w := d.w
	a, b := w.rng.IntN(len(w.latest)), w.rng.IntN(len(w.latest))
	if !d.free(a) || !d.free(b) {
		return
	}
	before, other := d.row(a), d.row(b)
	switch {
	case !before.there():
		d.set(a, row{spelling: d.spell(a), unique: d.values(row{})})
	case w.roll(w.opts.Deletes):
		d.remove(a)
		if a != b && other.there() && w.opts.Unique > 0 && w.roll(50) { // a value goes to another row
			j := w.rng.IntN(w.opts.Unique)
			other.unique[j] = before.unique[j]
			d.set(b, other)
		}
	case a != b && !other.there(): // the key changes
		d.remove(a)
		before.spelling = d.spell(b)
		d.set(b, before)
	case a != b && w.roll(50):
		d.swap(a, b)
	default:
		if w.roll(30) {
			before.spelling = d.spell(a)
		}
		if w.roll(60) {
			before.unique = d.values(before)
		}
		d.set(a, before)
	}
}

// swap has two rows exchange their values of a unique column.
func (d *draft) swap(a, b int) {
	if d.w.opts.Unique == 0 {
		return
	}
	j := d.w.rng.IntN(d.w.opts.Unique)
	x, y := d.row(a), d.row(b)
	x.unique[j], y.unique[j] = y.unique[j], x.unique[j]
	d.set(a, x)
	d.set(b, y)
}

func (d *draft) row(id int) row {
	if r, is := d.rows[id]; is {
		return r
	}
	return d.w.latest[id]
}

// free says that nobody else holds a lock on the row.
func (d *draft) free(id int) bool {
	return d.w.preparedBy[id] == nil && d.w.lockedBy[id] < d.w.visible
}

func (d *draft) spell(id int) int16 {
	list := d.w.keys.of[id]
	return int16(list[d.w.rng.IntN(len(list))])
}

func (d *draft) remove(id int) {
	d.touch(id, d.row(id))
	d.keep(id, row{})
}

func (d *draft) set(id int, r row) {
	d.w.versions++
	r.version = d.w.versions
	d.touch(id, d.row(id))
	d.touch(id, r)
	d.keep(id, r)
}

func (d *draft) keep(id int, r row) {
	if _, is := d.rows[id]; !is {
		d.order = append(d.order, id)
	}
	d.rows[id] = r
}

// touch notes the key of a row image; an UPDATE that leaves the key as it is shows it
// once.
func (d *draft) touch(id int, r row) {
	s := int(r.spelling)
	if !r.there() || len(d.touched) > 0 && d.touched[len(d.touched)-1] == s {
		return
	}
	d.touched = append(d.touched, s)
}

// values draws other values for some of the unique columns, such that the source stays
// free of duplicates.
func (d *draft) values(r row) [mostUnique]int16 {
	w := d.w
	for j := range w.opts.Unique {
		if w.roll(40) {
			continue
		}
		v := int16(w.rng.IntN(len(w.latest) + w.opts.Spare + 1))
		if v == 0 || d.mayTake(j, v) {
			r.unique[j] = v
		}
	}
	return r.unique
}

// mayTake says that no row has the value, and that nobody else holds a lock on it.
func (d *draft) mayTake(j int, v int16) bool {
	w := d.w
	for id := range w.latest {
		if d.row(id).unique[j] == v && d.row(id).there() {
			return false
		}
		if x := w.preparedBy[id]; x != nil && x.holds[j][v] {
			return false
		}
		if w.opts.SourceUnique && !d.free(id) && w.source[id].unique[j] == v {
			return false
		}
	}
	return true
}
