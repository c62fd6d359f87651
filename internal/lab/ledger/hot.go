package ledger

import (
	"fmt"
	"sync"
)

// hotPlaces holds the place in the order of commits of what the book says of each hot
// row.
type hotPlaces struct {
	mu     sync.Mutex
	places map[Slot]uint64
}

// rememberHot writes what a hot transaction did, row by row, unless the row was
// written by a transaction of a later place whose answer came earlier.
func (l *Ledger) rememberHot(rows map[Slot]row, place uint64) {
	if len(rows) == 0 {
		return
	}
	l.hot.mu.Lock()
	defer l.hot.mu.Unlock()
	for slot, r := range rows {
		if place > l.hot.places[slot] {
			l.hot.places[slot] = place
			l.book.set(slot, r)
		}
	}
}

// writeHot writes a hot row blindly: nobody in this process knows what it holds now.
// Whatever the statement finds, a hot row that is there afterwards holds the values
// written, its own unique values, and its first spelling.
func (t *Tx) writeHot(slot Slot) error {
	r := t.area.book.seededRow(slot)
	r.present = true
	for k := range r.unique {
		r.unique[k] = uint32(slot)
	}
	r.plain, r.wide = t.ledger.nonce(), t.ledger.nonce()
	w := t.writing
	all := of(FromPlain, FromWide)
	kind, statement := "update", []byte(nil)
	switch draw := t.rng.IntN(100); {
	case draw < 70:
		statement = w.appendSet(fmt.Appendf(nil, "UPDATE %s SET ", w.table), slot, &r, all)
		statement = w.appendKey(append(statement, " WHERE "...), slot, &r)
	case draw < 77:
		kind, r.present = "delete", false
		statement = w.appendKey(fmt.Appendf(nil, "DELETE FROM %s WHERE ", w.table), slot, &r)
	case draw < 85:
		kind, statement = "insert", w.appendTuple(w.insert("INSERT"), slot, &r)
	case draw < 92:
		kind, statement = "replace", w.appendTuple(w.insert("REPLACE"), slot, &r)
	default:
		kind, statement = "upsert", append(w.appendTuple(w.insert("INSERT"), slot, &r), " ON DUPLICATE KEY UPDATE "...)
		statement = w.appendSet(statement, slot, &r, all)
	}
	affected, err := t.try("hot "+kind, statement)
	if kind == "insert" && t.ledger.judge(err, false) == duplicate {
		return nil // the row is there, and stays as it is
	}
	if err != nil || affected == 0 {
		return err
	}
	t.hots[slot] = r
	t.rows++
	return nil
}
