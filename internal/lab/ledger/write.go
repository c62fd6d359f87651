package ledger

import "fmt"

// Insert inserts rows into absent slots, by one statement.
func (t *Tx) Insert(slots ...Slot) error {
	if err := t.own(slots...); err != nil {
		return err
	}
	made := make([]row, 0, len(slots))
	for _, slot := range slots {
		if t.Present(slot) {
			return fmt.Errorf("ledger: slot %d has a row already", slot)
		}
		r, err := t.newRow(slot)
		if err != nil {
			for _, r := range made {
				t.releaseAll(r)
			}
			return err
		}
		made = append(made, r)
	}
	statement := t.writing.insert("INSERT")
	for i, slot := range slots {
		if i > 0 {
			statement = append(statement, ", "...)
		}
		statement = t.writing.appendTuple(statement, slot, &made[i])
		t.put(slot, made[i])
	}
	return t.exec("insert", statement, int64(len(slots)))
}

// Update gives the plain columns of a row new values. A slot without a row is tried
// all the same, and must be found to be empty.
func (t *Tx) Update(slot Slot) error {
	r := t.get(slot)
	r.plain = t.ledger.nonce()
	return t.update(slot, r, of(FromPlain))
}

// UpdateWide gives the wide columns (JSON, texts) of a row new values.
func (t *Tx) UpdateWide(slot Slot) error {
	r := t.get(slot)
	r.wide = t.ledger.nonce()
	return t.update(slot, r, of(FromWide))
}

// update makes the row of a slot the given one, in the columns of some sources.
func (t *Tx) update(slot Slot, r row, changed parts) error {
	if err := t.own(slot); err != nil {
		return err
	}
	statement := t.writing.appendSet(fmt.Appendf(nil, "UPDATE %s SET ", t.writing.table), slot, &r, changed)
	before := t.get(slot)
	before.spelling = t.anySpelling()
	statement = t.writing.appendKey(append(statement, " WHERE "...), slot, &before)
	if !r.present {
		return t.exec("update", statement, 0)
	}
	t.put(slot, r)
	return t.exec("update", statement, 1)
}

// anySpelling is a way to write a key in a condition: each finds the row.
func (t *Tx) anySpelling() uint8 { return uint8(t.rng.IntN(t.writing.Spellings)) }

// UpdateRange gives the plain columns of all rows from low to high new values, the same
// for all, by one statement.
func (t *Tx) UpdateRange(low, high Slot) error {
	slots, err := t.within(low, high)
	if err != nil {
		return err
	}
	r := row{plain: t.ledger.nonce()}
	statement := t.writing.appendSet(fmt.Appendf(nil, "UPDATE %s SET ", t.writing.table), low, &r, of(FromPlain))
	statement = t.writing.appendRange(append(statement, " WHERE "...), low, high)
	for _, slot := range slots {
		after := t.get(slot)
		after.plain = r.plain
		t.put(slot, after)
	}
	return t.exec("update", statement, int64(len(slots)))
}

// within lists the slots from low to high that have rows.
func (t *Tx) within(low, high Slot) ([]Slot, error) {
	var slots []Slot
	for slot := low; slot <= high; slot++ {
		if err := t.own(slot); err != nil {
			return nil, err
		}
		if t.Present(slot) {
			slots = append(slots, slot)
		}
	}
	return slots, nil
}

// Delete deletes a row. A slot without a row is tried all the same.
func (t *Tx) Delete(slot Slot) error {
	if err := t.own(slot); err != nil {
		return err
	}
	r := t.get(slot)
	find := row{spelling: t.anySpelling()}
	statement := t.writing.appendKey(fmt.Appendf(nil, "DELETE FROM %s WHERE ", t.writing.table), slot, &find)
	if !r.present {
		return t.exec("delete", statement, 0)
	}
	t.remove(slot)
	return t.exec("delete", statement, 1)
}

// remove notes that a row is gone.
func (t *Tx) remove(slot Slot) {
	t.releaseAll(t.get(slot))
	t.put(slot, row{})
}

// DeleteRange deletes all rows from low to high by one statement.
func (t *Tx) DeleteRange(low, high Slot) error {
	slots, err := t.within(low, high)
	if err != nil {
		return err
	}
	statement := t.writing.appendRange(fmt.Appendf(nil, "DELETE FROM %s WHERE ", t.writing.table), low, high)
	for _, slot := range slots {
		t.remove(slot)
	}
	return t.exec("delete", statement, int64(len(slots)))
}

// Replace runs REPLACE on a present or absent slot.
func (t *Tx) Replace(slot Slot) error {
	if err := t.own(slot); err != nil {
		return err
	}
	var gone []Slot
	if t.Present(slot) {
		gone = []Slot{slot}
	}
	return t.replace(slot, -1, gone)
}

// ReplaceTaking runs REPLACE on a slot with the unique value of another row, the
// victim, which the server deletes.
func (t *Tx) ReplaceTaking(slot Slot, key int, victim Slot) error {
	if err := t.own(slot, victim); err != nil {
		return err
	}
	if slot == victim || !t.Present(victim) || t.get(victim).unique[key] == noID {
		return fmt.Errorf("ledger: slot %d has no unique value to take", victim)
	}
	gone := []Slot{victim}
	if t.Present(slot) {
		gone = append(gone, slot)
	}
	return t.replace(slot, key, gone)
}

// replace runs REPLACE, which deletes the rows of some slots; the new row takes the
// first one's value of a unique key, unless the key is -1.
func (t *Tx) replace(slot Slot, key int, gone []Slot) error {
	var taken unique
	if key >= 0 {
		taken = unique{key, t.get(gone[0]).unique[key]}
	}
	for _, g := range gone {
		t.releaseAll(t.get(g))
	}
	if key >= 0 {
		t.take(taken)
	}
	r, err := t.newRow(slot)
	if err != nil {
		for _, g := range gone {
			t.keepAll(t.get(g))
		}
		return err
	}
	if key >= 0 {
		t.release(unique{key, r.unique[key]})
		r.unique[key] = taken.id
	}
	for _, g := range gone {
		t.put(g, row{})
	}
	t.put(slot, r)
	statement := t.writing.appendTuple(t.writing.insert("REPLACE"), slot, &r)
	return t.exec("replace", statement, int64(1+len(gone)))
}

// Upsert runs INSERT .. ON DUPLICATE KEY UPDATE on a present or absent slot.
func (t *Tx) Upsert(slot Slot) error {
	if err := t.own(slot); err != nil {
		return err
	}
	before := t.get(slot)
	offered, err := t.newRow(slot)
	if err != nil {
		return err
	}
	after, want := offered, int64(1)
	if before.present {
		t.releaseAll(offered)
		after, want = before, 2
		after.plain = t.ledger.nonce()
	}
	t.put(slot, after)
	return t.upsert(slot, &offered, slot, &after, want)
}

// UpsertOther runs INSERT .. ON DUPLICATE KEY UPDATE of an absent slot with a unique
// value of another row, which the server then updates.
func (t *Tx) UpsertOther(slot Slot, key int, other Slot) error {
	if err := t.own(slot, other); err != nil {
		return err
	}
	after := t.get(other)
	if t.Present(slot) || !after.present || after.unique[key] == noID {
		return fmt.Errorf("ledger: slots %d and %d don't do for an upsert", slot, other)
	}
	offered, err := t.newRow(slot)
	if err != nil {
		return err
	}
	t.releaseAll(offered)
	offered.unique[key] = after.unique[key]
	after.plain = t.ledger.nonce()
	t.put(other, after)
	return t.upsert(slot, &offered, other, &after, 2)
}

// upsert offers a row for one slot and updates the plain columns of another (or the
// same) one.
func (t *Tx) upsert(slot Slot, offered *row, updated Slot, after *row, want int64) error {
	statement := t.writing.appendTuple(t.writing.insert("INSERT"), slot, offered)
	statement = append(statement, " ON DUPLICATE KEY UPDATE "...)
	return t.exec("upsert", t.writing.appendSet(statement, updated, after, of(FromPlain)), want)
}

// Move changes the key of a row to that of an absent slot.
func (t *Tx) Move(from, to Slot) error {
	if err := t.own(from, to); err != nil {
		return err
	}
	r := t.get(from)
	if !r.present || t.Present(to) || from == to {
		return fmt.Errorf("ledger: slot %d can't move to %d", from, to)
	}
	find := row{spelling: t.anySpelling()}
	r.spelling = t.anySpelling()
	statement := fmt.Appendf(nil, "UPDATE %s SET ", t.writing.table)
	statement = t.writing.appendSet(statement, to, &r, of(FromSlot, FromKey))
	statement = t.writing.appendKey(append(statement, " WHERE "...), from, &find)
	t.put(from, row{})
	t.put(to, r)
	return t.exec("update", statement, 1)
}

// Respell changes the key of a row to another spelling of the same key.
func (t *Tx) Respell(slot Slot) error {
	r := t.get(slot)
	if t.writing.Spellings < 2 || !r.present {
		return errNoRoom
	}
	r.spelling = (r.spelling + 1 + uint8(t.rng.IntN(t.writing.Spellings-1))) % uint8(t.writing.Spellings)
	return t.update(slot, r, of(FromKey))
}

// Reinsert deletes a row and inserts the same key anew.
func (t *Tx) Reinsert(slot Slot) error {
	if err := t.Delete(slot); err != nil {
		return err
	}
	return t.Insert(slot)
}

// setUnique gives a row another unique value, or NULL.
func (t *Tx) setUnique(slot Slot, key int, id uint32) error {
	r := t.get(slot)
	t.release(unique{key, r.unique[key]})
	r.unique[key] = id
	return t.update(slot, r, of(FromUnique0+Source(key)))
}

// aside is a value for a row whose unique value goes elsewhere: NULL or a fresh one.
func (t *Tx) aside(key int) (uint32, error) {
	if t.writing.nullable[key] && t.rng.IntN(2) == 0 {
		return noID, nil
	}
	return t.fresh(key, noID)
}

// Free takes a row's unique value away: it becomes NULL or another one. It returns
// what Take gives to another row.
func (t *Tx) Free(slot Slot, key int) (value uint32, err error) {
	if err := t.own(slot); err != nil {
		return 0, err
	}
	value = t.get(slot).unique[key]
	if !t.Present(slot) || value == noID {
		return 0, errNoRoom
	}
	id, err := t.aside(key)
	if err != nil {
		return 0, err
	}
	return value, t.setUnique(slot, key, id)
}

// Take gives a row a unique value that Free took from another one.
func (t *Tx) Take(slot Slot, key int, value uint32) error {
	if err := t.own(slot); err != nil {
		return err
	}
	if !t.Present(slot) || !t.free(unique{key, value}) {
		return errNoRoom
	}
	t.take(unique{key, value})
	return t.setUnique(slot, key, value)
}

// HandOver hands the unique value of one row to another.
func (t *Tx) HandOver(key int, from, to Slot) error {
	value, err := t.Free(from, key)
	if err != nil {
		return err
	}
	return t.Take(to, key, value)
}

// Swap exchanges the unique values of two rows through a third value.
func (t *Tx) Swap(key int, a, b Slot) error {
	valueA, err := t.Free(a, key)
	if err != nil {
		return err
	}
	valueB := t.get(b).unique[key]
	if err := t.Take(b, key, valueA); err != nil || valueB == noID {
		return err
	}
	return t.Take(a, key, valueB)
}
