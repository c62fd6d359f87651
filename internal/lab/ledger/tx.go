package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// ErrUndone says that the server rolled a transaction back, or did nothing, for a
// reason that an application lives with: a deadlock, a lock wait, a withdrawn
// statement, a lost connection. The ledger is as before the transaction.
var ErrUndone = errors.New("transaction rolled back")

// errNoRoom says that an operation finds no row or no slot to work on.
var errNoRoom = errors.New("no row for the operation")

// Mismatch is the failure that the package exists to find: the server's answer is not
// what the ledger says it must be.
type Mismatch struct {
	What string
	At   time.Time
}

func (m *Mismatch) Error() string { return "table differs from the ledger: " + m.What }

// Tx is a transaction that keeps the ledger: a method runs a statement, or the few that
// its name says, and Commit remembers what they did. All slots must be held, or of the
// area that the transaction was begun in. A Tx whose method returned an error can
// only be rolled back. Rollback after the end does nothing. It is not safe for
// concurrent use.
type Tx struct {
	ledger  *Ledger
	ctx     context.Context
	session *session
	area    *area
	rng     *rand.Rand
	writing *writing

	auto     bool // each statement commits by itself
	alone    bool // has the session for itself and closes it in the end
	begun    bool
	xid      string // of an XA transaction
	prepared bool
	rows     int // rows written
	after    map[Slot]row
	ids      map[unique]bool // in use after the transaction
	taken    []unique        // ids set aside by it
	hots     map[Slot]row
	saves    []save
}

// unique names a value of a unique key.
type unique struct {
	key int
	id  uint32
}

// save is a savepoint.
type save struct {
	after, hots map[Slot]row
	ids         map[unique]bool
}

func (l *Ledger) newTx(ctx context.Context, s *session, a *area, rng *rand.Rand, auto bool) *Tx {
	return &Tx{
		ledger: l, ctx: ctx, session: s, area: a, rng: rng, auto: auto, writing: l.writing.Load(),
		after: map[Slot]row{}, ids: map[unique]bool{}, hots: map[Slot]row{},
	}
}

// begin opens the transaction unless statements commit by themselves.
func (t *Tx) begin() error {
	if t.auto || t.begun {
		return nil
	}
	t.begun = true
	statement := "START TRANSACTION"
	if t.xid != "" {
		statement = "XA START " + t.xid
	}
	_, err := t.session.exec(t.ctx, "begin", statement)
	return err
}

// exec runs a statement that must write the given number of rows, as the server
// counts them.
func (t *Tx) exec(kind string, statement []byte, want int64) error {
	got, err := t.try(kind, statement)
	if err == nil && got != want {
		return t.mismatch("%d rows affected instead of %d by %s", got, want, abridged(string(statement)))
	}
	return err
}

func (t *Tx) try(kind string, statement []byte) (int64, error) {
	if err := t.begin(); err != nil {
		return 0, err
	}
	return t.session.exec(t.ctx, kind, string(statement))
}

func (t *Tx) mismatch(format string, args ...any) error {
	return &Mismatch{What: fmt.Sprintf(format, args...), At: time.Now()}
}

// get returns a slot's row as the transaction sees it.
func (t *Tx) get(slot Slot) row {
	if r, ok := t.after[slot]; ok {
		return r
	}
	return t.before(slot)
}

// before returns a slot's row as it was before the transaction.
func (t *Tx) before(slot Slot) row {
	t.area.mu.Lock()
	defer t.area.mu.Unlock()
	return t.area.book.get(slot)
}

func (t *Tx) put(slot Slot, r row) {
	t.after[slot] = r
	t.rows++
}

// own refuses slots that others write to, and writes after the end.
func (t *Tx) own(slots ...Slot) error {
	if t.after == nil {
		return errors.New("ledger: the transaction has ended")
	}
	for _, slot := range slots {
		if int(slot) >= t.area.book.size || t.area.book.owner(slot) != t.area.owner {
			return fmt.Errorf("ledger: slot %d is not held for this transaction", slot)
		}
	}
	return nil
}

// Present says whether a slot has a row, as the transaction sees it.
func (t *Tx) Present(slot Slot) bool { return t.get(slot).present }

// free says whether the transaction may put a unique value into a row.
func (t *Tx) free(u unique) bool {
	if used, ok := t.ids[u]; ok {
		return !used
	}
	t.area.mu.Lock()
	defer t.area.mu.Unlock()
	return !t.area.book.inUse(u.key, u.id)
}

// take sets a unique value aside for a row of the transaction.
func (t *Tx) take(u unique) {
	t.area.mu.Lock()
	defer t.area.mu.Unlock()
	if !t.area.book.inUse(u.key, u.id) {
		t.area.book.setInUse(u.key, u.id, true)
		t.taken = append(t.taken, u)
	}
	t.ids[u] = true
}

func (t *Tx) release(u unique) {
	if u.id != noID {
		t.ids[u] = false
	}
}

func (t *Tx) releaseAll(r row) {
	for k := range t.writing.uniques {
		t.release(unique{k, r.unique[k]})
	}
}

// keepAll takes back what releaseAll did.
func (t *Tx) keepAll(r row) {
	for k := range t.writing.uniques {
		if r.unique[k] != noID {
			t.ids[unique{k, r.unique[k]}] = true
		}
	}
}

// fresh takes a unique value that no row has; the preferred one if it is free.
func (t *Tx) fresh(k int, preferred uint32) (uint32, error) {
	if preferred != noID && t.free(unique{k, preferred}) {
		t.take(unique{k, preferred})
		return preferred, nil
	}
	slot, ok := t.area.find(t.rng, func(s Slot) bool { return t.free(unique{k, uint32(s)}) })
	if !ok {
		return 0, errNoRoom
	}
	t.take(unique{k, uint32(slot)})
	return uint32(slot), nil
}

// newRow makes a row for an absent slot, with unique values of its own.
func (t *Tx) newRow(slot Slot) (row, error) {
	r := row{present: true, plain: t.ledger.nonce(), wide: t.ledger.nonce()}
	r.spelling = uint8(t.rng.IntN(t.writing.Spellings))
	for k := range t.writing.uniques {
		preferred := uint32(slot)
		if t.rng.IntN(4) == 0 { // mostly the slot's own value, sometimes another one
			preferred = noID
		}
		id, err := t.fresh(k, preferred)
		if err != nil {
			for taken := range k {
				t.release(unique{taken, r.unique[taken]})
			}
			return r, err
		}
		r.unique[k] = id
	}
	return r, nil
}

// Commit commits, and remembers what the transaction did once the server has said so.
// It returns ErrUndone if the transaction was rolled back instead.
func (t *Tx) Commit() error {
	if t.alone {
		defer t.session.close()
	}
	if t.xid != "" {
		return t.commitXA()
	}
	var place uint64
	if len(t.hots) > 0 {
		place = t.ledger.order.Add(1) // NB: after the last statement, before COMMIT
	}
	if t.begun {
		if _, err := t.session.exec(t.ctx, "commit", "COMMIT"); err != nil {
			return t.resolve(err, place)
		}
	}
	t.remember(place)
	return nil
}

// Rollback rolls back; the ledger is as it was.
func (t *Tx) Rollback() {
	t.forget()
	if t.alone {
		defer t.session.close()
	}
	if !t.begun || t.session.broken {
		return
	}
	t.begun = false
	statements := []string{"ROLLBACK"}
	switch {
	case t.prepared:
		statements = []string{"XA ROLLBACK " + t.xid}
	case t.xid != "":
		statements = []string{"XA END " + t.xid, "XA ROLLBACK " + t.xid}
	}
	for _, statement := range statements {
		if _, err := t.session.exec(t.ctx, "rollback", statement); err != nil {
			t.session.close() // the server rolls back then
			return
		}
	}
}

// remember writes what the transaction did into the ledger.
func (t *Tx) remember(place uint64) {
	b := t.area.book
	t.area.mu.Lock()
	for slot, r := range t.after {
		if before := b.get(slot); before.present != r.present {
			t.area.present += map[bool]int{true: 1, false: -1}[r.present]
		}
		b.set(slot, r)
	}
	for _, u := range t.taken {
		b.setInUse(u.key, u.id, t.ids[u])
	}
	for u, used := range t.ids {
		b.setInUse(u.key, u.id, used)
	}
	t.area.mu.Unlock()
	t.ledger.rememberHot(t.hots, place)
	t.after, t.ids, t.hots, t.taken, t.begun = nil, nil, nil, nil, false
}

// forget gives back the unique values that were set aside.
func (t *Tx) forget() {
	t.area.mu.Lock()
	defer t.area.mu.Unlock()
	for _, u := range t.taken {
		t.area.book.setInUse(u.key, u.id, false)
	}
	t.after, t.ids, t.hots, t.taken = nil, nil, nil, nil
}

// Savepoint sets a savepoint.
func (t *Tx) Savepoint() error {
	statement := fmt.Sprintf("SAVEPOINT s%d", len(t.saves))
	if _, err := t.try("savepoint", []byte(statement)); err != nil {
		return err
	}
	t.saves = append(t.saves, save{maps.Clone(t.after), maps.Clone(t.hots), maps.Clone(t.ids)})
	return nil
}

// RollbackTo undoes all since the last savepoint, and forgets the savepoint.
func (t *Tx) RollbackTo() error {
	last := len(t.saves) - 1
	if last < 0 {
		return errors.New("ledger: no savepoint")
	}
	if _, err := t.try("savepoint", fmt.Appendf(nil, "ROLLBACK TO SAVEPOINT s%d", last)); err != nil {
		return err
	}
	t.after, t.hots, t.ids = t.saves[last].after, t.saves[last].hots, t.saves[last].ids
	t.saves = slices.Delete(t.saves, last, last+1)
	return nil
}
