package ledger

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// operation is one kind of transaction.
type operation struct {
	single  bool // one statement: may commit by itself
	discard bool // is rolled back in the end
	run     func(*Tx) error
}

// singles are the operations of one statement.
var singles = map[Op]func(*Tx) error{
	OpInsert:      func(t *Tx) error { return t.insertSome(1) },
	OpInsertMany:  func(t *Tx) error { return t.insertSome(2 + t.rng.IntN(40)) },
	OpUpdate:      func(t *Tx) error { return t.on((*Tx).Update) },
	OpUpdateWide:  func(t *Tx) error { return t.on((*Tx).UpdateWide) },
	OpUpdateRange: func(t *Tx) error { return t.onRange((*Tx).UpdateRange, 100) },
	OpDelete:      (*Tx).deleteOne,
	OpDeleteRange: (*Tx).deleteSome,
	OpReplace:     (*Tx).replaceOne,
	OpReplaceTake: (*Tx).replaceTaking,
	OpUpsert:      (*Tx).upsertOne,
	OpUpsertOther: (*Tx).upsertOther,
	OpMove:        (*Tx).moveOne,
	OpRespell:     func(t *Tx) error { return t.on((*Tx).Respell) },
}

// singleOps are the names of singles, in a fixed order for drawing.
var singleOps = slices.Sorted(maps.Keys(singles))

// operations are all kinds. What is special in ending OpHandOverTwo and OpXA is known
// to Ledger.perform.
var operations = allOperations()

func allOperations() map[Op]operation {
	all := map[Op]operation{
		OpHandOver:    {run: func(t *Tx) error { return t.onTwo((*Tx).HandOver) }},
		OpHandOverTwo: {run: func(t *Tx) error { return t.onTwo((*Tx).HandOver) }},
		OpSwap:        {run: func(t *Tx) error { return t.onTwo((*Tx).Swap) }},
		OpReinsert:    {run: func(t *Tx) error { return t.on((*Tx).Reinsert) }},
		OpTouchMany:   {run: (*Tx).touchMany},
		OpSavepoint:   {run: (*Tx).savepoint},
		OpRollback:    {run: (*Tx).mixed, discard: true},
		OpMixed:       {run: (*Tx).mixed},
		OpXA:          {run: (*Tx).mixed},
		OpHuge:        {run: (*Tx).huge},
		OpHot:         {run: (*Tx).hot},
	}
	for op, run := range singles {
		all[op] = operation{single: true, run: run}
	}
	return all
}

// pickPresent returns a random slot that has a row.
func (t *Tx) pickPresent() (Slot, error) {
	slot, ok := t.area.find(t.rng, t.Present)
	if !ok {
		return 0, errNoRoom
	}
	return slot, nil
}

func (t *Tx) pickAbsent() (Slot, error) {
	slot, ok := t.area.find(t.rng, func(s Slot) bool { return !t.Present(s) })
	if !ok {
		return 0, errNoRoom
	}
	return slot, nil
}

// surplus is the number of rows that the area has beyond what it had at first. Rows
// come only below a bound and go only above one, so the table keeps its size.
func (t *Tx) surplus() int {
	t.area.mu.Lock()
	defer t.area.mu.Unlock()
	return t.area.present - t.area.aim
}

func (t *Tx) mayGrow() bool   { return t.surplus() <= 4+t.area.aim/10 }
func (t *Tx) mayShrink() bool { return t.surplus() >= -4-t.area.aim/10 }

func (t *Tx) insertSome(n int) error {
	if !t.mayGrow() {
		return errNoRoom
	}
	chosen := map[Slot]bool{}
	var slots []Slot
	for range n {
		slot, ok := t.area.find(t.rng, func(s Slot) bool { return !chosen[s] && !t.Present(s) })
		if !ok {
			break
		}
		chosen[slot] = true
		slots = append(slots, slot)
	}
	if len(slots) == 0 {
		return errNoRoom
	}
	return t.Insert(slots...)
}

// on runs a write on a random row.
func (t *Tx) on(write func(*Tx, Slot) error) error {
	slot, err := t.pickPresent()
	if err != nil {
		return err
	}
	return write(t, slot)
}

// onTwo runs a write on a random unique key of two random rows.
func (t *Tx) onTwo(write func(t *Tx, key int, a, b Slot) error) error {
	a, b, err := t.pickTwo()
	if err != nil || t.writing.uniques == 0 {
		return errNoRoom
	}
	return write(t, t.rng.IntN(t.writing.uniques), a, b)
}

func (t *Tx) pickTwo() (a, b Slot, err error) {
	if a, err = t.pickPresent(); err != nil {
		return 0, 0, err
	}
	b, ok := t.area.find(t.rng, func(s Slot) bool { return s != a && t.Present(s) })
	if !ok {
		return 0, 0, errNoRoom
	}
	return a, b, nil
}

// onRange runs a write on up to the given number of slots side by side.
func (t *Tx) onRange(write func(t *Tx, low, high Slot) error, most int) error {
	if t.area.slots() == 0 {
		return errNoRoom
	}
	low := t.area.at(t.rng.IntN(t.area.slots()))
	return write(t, low, t.blockEnd(low, 1+t.rng.IntN(most)))
}

// blockEnd is the last of so many slots from low on, at most the last of its block.
func (t *Tx) blockEnd(low Slot, slots int) Slot {
	last := (int(low)/t.area.book.block+1)*t.area.book.block - 1
	return Slot(min(int(low)+slots-1, last))
}

func (t *Tx) deleteOne() error {
	if !t.mayShrink() {
		return errNoRoom
	}
	return t.on((*Tx).Delete)
}

func (t *Tx) deleteSome() error {
	if !t.mayShrink() {
		return errNoRoom
	}
	return t.onRange((*Tx).DeleteRange, 40)
}

func (t *Tx) replaceOne() error {
	if t.mayGrow() && t.rng.IntN(3) == 0 {
		slot, err := t.pickAbsent()
		if err != nil {
			return err
		}
		return t.Replace(slot)
	}
	return t.on((*Tx).Replace)
}

func (t *Tx) replaceTaking() error {
	a, b, err := t.pickTwo()
	if err != nil || t.writing.uniques == 0 || !t.mayShrink() {
		return errNoRoom
	}
	key := t.rng.IntN(t.writing.uniques)
	if t.get(b).unique[key] == noID {
		return errNoRoom
	}
	return t.ReplaceTaking(a, key, b)
}

func (t *Tx) upsertOne() error {
	if t.mayGrow() && t.rng.IntN(3) == 0 {
		slot, err := t.pickAbsent()
		if err != nil {
			return err
		}
		return t.Upsert(slot)
	}
	return t.on((*Tx).Upsert)
}

func (t *Tx) upsertOther() error {
	return t.onPair(func(absent, present Slot) error {
		if t.writing.uniques == 0 {
			return errNoRoom
		}
		key := t.rng.IntN(t.writing.uniques)
		if t.get(present).unique[key] == noID {
			return errNoRoom
		}
		return t.UpsertOther(absent, key, present)
	})
}

func (t *Tx) moveOne() error {
	return t.onPair(func(absent, present Slot) error { return t.Move(present, absent) })
}

// onPair runs a write on a random absent and a random present slot.
func (t *Tx) onPair(write func(absent, present Slot) error) error {
	present, err := t.pickPresent()
	if err != nil {
		return err
	}
	absent, err := t.pickAbsent()
	if err != nil {
		return err
	}
	return write(absent, present)
}

// touchMany writes one row many times, also deletes and inserts it.
func (t *Tx) touchMany() error {
	slot, err := t.pickPresent()
	if err != nil {
		return err
	}
	writes := []func(*Tx, Slot) error{
		(*Tx).Update, (*Tx).Update, (*Tx).UpdateWide, (*Tx).Replace, (*Tx).Upsert, (*Tx).Reinsert,
	}
	for range 3 + t.rng.IntN(15) {
		if err := writes[t.rng.IntN(len(writes))](t, slot); err != nil {
			return err
		}
	}
	return nil
}

// savepoint keeps a part of its writes, and undoes another part.
func (t *Tx) savepoint() error {
	if err := t.mixed(); err != nil {
		return err
	}
	if err := t.Savepoint(); err != nil {
		return err
	}
	if err := t.mixed(); err != nil {
		return err
	}
	if err := t.RollbackTo(); err != nil {
		return err
	}
	return t.mixed()
}

// mixed runs some operations of the first group.
func (t *Tx) mixed() error {
	for done, tries := 0, 0; done < 1+t.rng.IntN(4) && tries < 40; tries++ {
		switch err := singles[singleOps[t.rng.IntN(len(singleOps))]](t); err {
		case nil:
			done++
		case errNoRoom:
		default:
			return err
		}
	}
	if !t.begun {
		return errNoRoom
	}
	return nil
}

// huge updates, deletes, inserts, or deletes and inserts very many rows.
func (t *Tx) huge() error {
	switch {
	case t.rng.IntN(2) == 0:
		return t.hugeRange((*Tx).UpdateRange)
	case t.surplus() < 0:
		return t.hugeInsert()
	default:
		if err := t.hugeRange((*Tx).DeleteRange); err != nil || t.rng.IntN(2) == 0 {
			return err
		}
		return t.hugeInsert()
	}
}

// hugeRange writes block after block until enough rows were written.
func (t *Tx) hugeRange(write func(t *Tx, low, high Slot) error) error {
	start := t.rng.IntN(max(len(t.area.blocks), 1))
	for i := range t.area.blocks {
		if t.rows >= t.ledger.opts.HugeRows {
			break
		}
		low := t.area.at((start + i) % len(t.area.blocks) * t.area.book.block)
		if err := write(t, low, t.blockEnd(low, t.area.book.block)); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) hugeInsert() error {
	const each = 500
	var slots []Slot
	left := min(t.ledger.opts.HugeRows, t.area.aim-t.presentNow())
	for n := 0; n < t.area.slots() && left > 0; n++ {
		if slot := t.area.at(n); !t.Present(slot) {
			slots = append(slots, slot)
			left--
		}
		if len(slots) == each || len(slots) > 0 && (left == 0 || n == t.area.slots()-1) {
			if err := t.Insert(slots...); err != nil {
				return err
			}
			slots = slots[:0]
		}
	}
	return nil
}

// presentNow is the number of rows of the area, as the transaction sees it.
func (t *Tx) presentNow() int {
	n := t.surplus() + t.area.aim
	for slot, r := range t.after {
		if before := t.before(slot); before.present != r.present {
			n += map[bool]int{true: 1, false: -1}[r.present]
		}
	}
	return n
}

// hot writes several hot rows, in an order that mostly avoids deadlocks, and one row
// of the writer's own.
func (t *Tx) hot() error {
	rows := t.area.book.hotRows
	if len(rows) == 0 {
		return errNoRoom
	}
	if err := t.on((*Tx).Update); err != nil {
		return err
	}
	for _, slot := range hotOrder(t.rng, rows, 9) {
		if err := t.writeHot(slot); err != nil {
			return err
		}
	}
	return nil
}

// hotOrder draws n of the hot rows, with repetition: mostly in order, sometimes not.
func hotOrder(rng *rand.Rand, rows []Slot, n int) []Slot {
	ordered := rng.IntN(10) > 0
	drawn := make([]Slot, n)
	for i := range drawn {
		if ordered {
			low, high := i*len(rows)/n, max((i+1)*len(rows)/n, i*len(rows)/n+1)
			drawn[i] = rows[low+rng.IntN(high-low)]
		} else {
			drawn[i] = rows[rng.IntN(len(rows))]
		}
	}
	return drawn
}
