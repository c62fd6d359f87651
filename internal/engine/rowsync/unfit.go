package rowsync

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Unfit are the rows of the source that the shadow refuses. An undo lists them instead of ending at the first one: the old
// definition may refuse rows that the application has written since the change. An unfit row has no row in the shadow, and
// each change of it is a new try. It is safe for concurrent use.
//
// A row is listed by the key that the source has. A change has the key of its time, which only the collation may hold equal.
type Unfit struct {
	first func(UnfitRow)
	mu    sync.Mutex
	rows  map[key.Key]UnfitRow
	tries uint64
	// other are keys that have found the row of another key, which was listed, when they were synced last.
	other map[key.Key]key.Key
}

// fewOther is a number of other keys that needs no pruning.
const fewOther = 1000

// NewUnfit returns an empty list. It calls first with each row that is the only one in the list.
func NewUnfit(first func(UnfitRow)) *Unfit {
	return &Unfit{first: first, rows: map[key.Key]UnfitRow{}, other: map[key.Key]key.Key{}}
}

// UnfitRow is one of them, with the server's reason.
type UnfitRow struct {
	Key   key.Key
	Cause error
	// Try is another number after each change of the row.
	Try uint64
}

// Rows lists them, in the order of their keys' bytes. A nil Unfit has none.
func (u *Unfit) Rows() []UnfitRow {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	rows := make([]UnfitRow, 0, len(u.rows))
	for _, row := range u.rows {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b UnfitRow) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return rows
}

// Some is their number, and up to most of them, in any order.
func (u *Unfit) Some(most int) (all int64, rows []UnfitRow) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, row := range u.rows {
		if len(rows) == most {
			break
		}
		rows = append(rows, row)
	}
	return int64(len(u.rows)), rows
}

// Keys are their keys.
func (u *Unfit) Keys() []key.Key {
	rows := u.Rows()
	keys := make([]key.Key, len(rows))
	for i, r := range rows {
		keys[i] = r.Key
	}
	return keys
}

// Len is their number.
func (u *Unfit) Len() int {
	if u == nil {
		return 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.rows)
}

// Tries is another number after each change of a row that does not fit. A nil Unfit has none.
func (u *Unfit) Tries() uint64 {
	if u == nil {
		return 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tries
}

// Without leaves out the keys of unfit rows.
func (u *Unfit) Without(keys []key.Key) []key.Key {
	if u.Len() == 0 {
		return keys
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(keys), u.lists)
}

// lists reports whether a row with the key is listed. REQUIRES: mu is held.
func (u *Unfit) lists(k key.Key) bool {
	if u.rows[k].Cause != nil {
		return true
	}
	is, other := u.other[k]
	return other && u.rows[is].Cause != nil
}

// Has reports whether the key is in the list. A nil Unfit has none.
func (u *Unfit) has(k key.Key) bool {
	if u == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.lists(k)
}

// Put lists a row with the server's reason.
func (u *Unfit) Put(k key.Key, cause error) { u.settle(nil, refusing([]key.Key{k}, cause), nil) }

// knows reports whether any key is in the list, or found a listed row. A nil Unfit knows none.
func (u *Unfit) knows() bool {
	if u == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.rows)+len(u.other) > 0
}

// fits removes keys whose rows were synced.
func (u *Unfit) fits(keys []key.Key) {
	if u.knows() {
		u.settle(keys, nil, nil)
	}
}

// settle takes the end of a sync of keys: those of their rows that were refused, and which keys have found the rows.
func (u *Unfit) settle(keys []key.Key, refused []UnfitRow, found []finding) {
	u.mu.Lock()
	before := len(u.rows)
	listed := map[key.Key]bool{}
	for _, row := range refused {
		listed[row.Key] = true
	}
	for _, k := range keys {
		for _, same := range []key.Key{k, u.other[k]} {
			if !listed[same] {
				delete(u.rows, same)
			}
		}
		delete(u.other, k) // its row may be in the shadow
	}
	for i := range refused {
		u.tries++
		refused[i].Try = u.tries
		u.rows[refused[i].Key] = refused[i]
	}
	for _, f := range found {
		if f.by != f.row && u.rows[f.row].Cause != nil {
			u.other[f.by] = f.row
		}
	}
	if len(u.other) > fewOther+2*len(u.rows) {
		maps.DeleteFunc(u.other, func(_, is key.Key) bool { return u.rows[is].Cause == nil })
	}
	first := before == 0 && len(refused) > 0
	u.mu.Unlock()
	if first {
		u.first(refused[0])
	}
}

// refusing are rows that are refused for one reason.
func refusing(keys []key.Key, cause error) []UnfitRow {
	rows := make([]UnfitRow, len(keys))
	for i, k := range keys {
		rows[i] = UnfitRow{Key: k, Cause: cause}
	}
	return rows
}

// refusesRow reports whether a row is the cause of the error: the shadow does not take it.
func refusesRow(err error) bool {
	return dbconn.ValueRefused(err) || dbconn.Duplicate(err) || errors.Is(err, ErrDuplicate) || errors.Is(err, ErrNoValue)
}

// SetApart has the syncer set unfit rows apart instead of failing. Call it before the first sync.
func (s *Syncer) SetApart(u *Unfit) { s.unfit = u }

// settled reports keys whose sync need not be repeated for a sync of P: P is tried again anyway, and rows that are known
// not to fit are not in the shadow. If they were repeated, two rows that do not fit would repeat each other for ever.
func (s *Syncer) settled(p predicate) func(key.Key) bool {
	if s.unfit == nil {
		return nil
	}
	return func(k key.Key) bool { return s.unfit.has(k) || slices.Contains(p.keys, k) }
}

// oneByOneKeys is the number of keys that are synced one by one in one transaction. By halves, each row that does not fit costs
// eight statements, and so one by one. Writers that make ten such rows by a statement would outrun that.
const oneByOneKeys = 64

// oneByOneLocked is the number if rows of the source stay locked until the transaction ends (Spec.Locking).
const oneByOneLocked = 8

// oneByOneMost is the number of keys that oneByOne takes; 0 if it cannot sync the rows.
func (s *Syncer) oneByOneMost() int {
	switch {
	case s.spec.Again != "", s.spec.Virtual:
		return 0
	case s.spec.Locking != "":
		return oneByOneLocked
	}
	return oneByOneKeys
}

// apart syncs a list of keys half by half, and the last ones one by one, and sets the keys apart whose rows the shadow refuses.
// cause is why the complete list was refused.
func (s *Syncer) apart(ctx context.Context, session *dbconn.Session, keys []key.Key, cause error) (Result, error) {
	if len(keys) <= s.oneByOneMost() && (dbconn.ValueRefused(cause) || errors.Is(cause, ErrDuplicate)) {
		if result, done := s.oneByOne(ctx, session, keys); done {
			return result, nil
		}
	}
	lacking, rest := lackValues(keys, cause)
	var one *twin
	switch {
	case len(keys) > 1 && errors.As(cause, &one) && slices.Contains(keys, one.key):
		return one.without(ctx, s, session, keys)
	case len(rest) == 0:
		return s.setApart(ctx, session, lacking, cause)
	case len(lacking) > 0:
		return s.both(func(i int) (Result, error) {
			if i == 0 {
				return s.setApart(ctx, session, lacking, cause)
			}
			return s.Keys(ctx, session, rest)
		})
	case len(keys) > 1:
		return keysByHalves(ctx, s, session, keys)
	case s.spec.Virtual && dbconn.ValueRefused(cause):
		if result, err := s.refit(ctx, session, predicate{spec: s.spec, keys: keys}); err == nil {
			s.unfit.fits(keys)
			return result, nil
		}
	}
	return s.setApart(ctx, session, keys, cause)
}

// without sets the row apart that a sync of the keys has found to be a duplicate, and syncs the others. By halves, each such row would
// be found again as often as the list can be halved, and cost seconds.
func (t *twin) without(ctx context.Context, s *Syncer, session *dbconn.Session, keys []key.Key) (Result, error) {
	sum, err := s.setApart(ctx, session, []key.Key{t.key}, t.error)
	lists := [][]key.Key{t.rest}
	if s.unfit.Len() > 1 { // rows that did not fit may be among those that do now
		lists = append(lists, keys[:slices.Index(keys, t.key)])
	}
	for _, list := range lists {
		if len(list) == 0 || err != nil {
			continue
		}
		var result Result
		result, err = s.Keys(ctx, session, list)
		sum.Inserted, sum.Deleted = sum.Inserted+result.Inserted, sum.Deleted+result.Deleted
	}
	return sum, err
}

// setApart removes rows from the shadow that it refuses.
func (s *Syncer) setApart(ctx context.Context, session *dbconn.Session, keys []key.Key, cause error) (result Result, err error) {
	var found []finding
	err = s.clear(ctx, session, "keys", func() (err error) {
		if result.Deleted, err = s.empty(ctx, session, predicate{spec: s.spec, keys: keys}); err == nil {
			found, err = s.spec.there(ctx, session, keys)
		}
		return err
	})
	if err != nil {
		return result, err
	}
	s.unfit.settle(keys, refusing(foundRows(found), cause), found)
	return result, nil
}

// lackValues are the keys whose rows lack a value for a column of the shadow, if that is the cause, and the others. One statement
// finds all of them; by halves, each would cost many statements, and a wait for what is still to be received.
func lackValues(keys []key.Key, cause error) (lacking, rest []key.Key) {
	var lacks *noValue
	if !errors.As(cause, &lacks) {
		return nil, keys
	}
	found := map[key.Key]bool{}
	for _, k := range lacks.keys {
		found[k] = true
	}
	for _, k := range keys {
		if found[k] {
			lacking = append(lacking, k)
		} else {
			rest = append(rest, k)
		}
	}
	return lacking, rest
}

// clear does work in a transaction next to other syncs, again and again until no other transaction is in its way.
func (s *Syncer) clear(ctx context.Context, session *dbconn.Session, what string, work func() error) error {
	return uncontended(ctx, func() error {
		s.alone.RLock()
		defer s.alone.RUnlock()
		return transact(ctx, session, work)
	}, func(err error) { s.emit(event.Retry{What: what, Cause: dbconn.Message(err), At: time.Now()}) })
}

// oneByOne syncs keys in one transaction: it deletes them all, and inserts one after the other. The server undoes a statement that
// it refuses because of a value or a duplicate, and no more. A row is refused as a duplicate only if the source has both rows. done is
// false if there was another error: then nothing was done.
func (s *Syncer) oneByOne(ctx context.Context, session *dbconn.Session, keys []key.Key) (result Result, done bool) {
	var refused []UnfitRow
	var found []finding
	s.alone.RLock()
	defer s.alone.RUnlock()
	err := transact(ctx, session, func() (err error) {
		if result.Deleted, err = s.empty(ctx, session, predicate{spec: s.spec, keys: keys}); err != nil {
			return err
		}
		if found, err = s.spec.there(ctx, session, keys); err != nil {
			return err
		}
		rows := foundRows(found)
		for i, k := range rows {
			inserted, err := s.fill(ctx, session, predicate{spec: s.spec, keys: rows[i : i+1]})
			switch {
			case dbconn.Duplicate(err):
				twin := twinOf(ctx, session, predicate{spec: s.spec, keys: rows[i : i+1]}, err)
				if twin == nil {
					return err
				}
				refused = append(refused, UnfitRow{Key: k, Cause: twin})
			case dbconn.ValueRefused(err):
				refused = append(refused, UnfitRow{Key: k, Cause: err})
			case err != nil:
				return err
			}
			result.Inserted += inserted
		}
		return nil
	})
	if err != nil {
		return Result{}, false
	}
	s.unfit.settle(keys, refused, found)
	return result, true
}

// rangeApart syncs the rows of a range key by key, with those that are in the shadow only.
func (s *Syncer) rangeApart(ctx context.Context, session *dbconn.Session, r key.Range) (sum Result, err error) {
	p := predicate{spec: s.spec, chunk: &r}
	var keys []key.Key
	err = s.clear(ctx, session, "chunk", func() (err error) {
		if sum.Deleted, err = s.empty(ctx, session, p); err != nil {
			return err
		}
		keys, err = s.spec.readKeys(ctx, session, p.keysOf())
		return err
	})
	if err != nil {
		return sum, err
	}
	for part := range slices.Chunk(keys, aloneKeys) {
		result, err := s.Keys(ctx, session, part)
		sum.Inserted, sum.Deleted = sum.Inserted+result.Inserted, sum.Deleted+result.Deleted
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// Park returns the statement that copies rows of the source to a table of the same definition.
func (s *Spec) Park(to schema.Name, columns []string, keys []key.Key) string {
	list := schema.QuoteAll(columns)
	return "INSERT INTO " + to.Quoted() + " (" + list + ") SELECT " + list + " FROM " + s.Source.Quoted() +
		" FORCE INDEX (" + schema.Quote(s.SourceIndex) + ") WHERE " + InKeys(s.Key, s.Key.Names(), keys)
}
