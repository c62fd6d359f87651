package queue

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// board holds the changes. It finds a change by its id, the changes that run on a server, and the
// changes of a table, without a walk through all of them. It has no lock of its own.
type board struct {
	changes []*entry       // in the order of submission; an entry is replaced and never written to
	at      map[string]int // places in changes, by id
	waiting map[string]row // by the key of a table
	holding map[string]row // those that run, by the key of a table
	running map[string]row // by server
	last    uint64         // the number of the youngest change, 0 for none
	// kept has the id of the last change of a table that has kept an undo, by the key of that table. takers has the id of
	// the last undo of a change that is not over in vain, by the id of the change.
	kept, takers map[string]string
}

// row is a list of changes in the order of their numbers.
type row []spot

// spot names a change in a row.
type spot struct {
	sequence uint64
	id       string
}

func newBoard() *board {
	return &board{at: map[string]int{}, waiting: map[string]row{}, holding: map[string]row{}, running: map[string]row{},
		kept: map[string]string{}, takers: map[string]string{}}
}

// find is the change of an id, nil for none.
func (b *board) find(id string) *entry {
	if at, there := b.at[id]; there {
		return b.changes[at]
	}
	return nil
}

// set replaces the change with the same id. A change that is new, or has a new number, gets the last place.
func (b *board) set(e *entry) {
	before := b.find(e.ID)
	if before != nil {
		b.list(before, row.without)
	}
	switch {
	case before == nil:
		b.at[e.ID] = len(b.changes)
		b.changes = append(b.changes, e)
	case before.Sequence == e.Sequence:
		b.changes[b.at[e.ID]] = e
	default:
		at := b.at[e.ID]
		b.changes = append(slices.Delete(b.changes, at, at+1), e)
		for i := at; i < len(b.changes); i++ {
			b.at[b.changes[i].ID] = i
		}
	}
	b.list(e, row.with)
	b.last = max(b.last, e.Sequence)
	b.note(e)
}

// note keeps what undos are about.
func (b *board) note(e *entry) {
	if e.State == StateDone && e.Kept != nil {
		if last := b.find(b.kept[e.keptKey()]); last == nil || last.Sequence <= e.Sequence {
			b.kept[e.keptKey()] = e.ID
		}
	}
	switch {
	case e.Undoes == "":
	case !e.State.Over() || e.State == StateDone:
		b.takers[e.Undoes] = e.ID
	case b.takers[e.Undoes] == e.ID:
		delete(b.takers, e.Undoes)
	}
}

// keptKey is the key of the table whose undo a change has kept.
func (e *entry) keptKey() string { return keptKey(e.Server, e.Kept.Table) }

func keptKey(server, table string) string { return server + "\x00" + folded(table) }

// list adds a change to the rows that its state belongs to, or takes it out.
func (b *board) list(e *entry, change func(row, spot) row) {
	one := spot{e.Sequence, e.ID}
	put := func(rows map[string]row, key string) {
		if rows[key] = change(rows[key], one); len(rows[key]) == 0 {
			delete(rows, key)
		}
	}
	switch e.State {
	case StateWaiting:
		for _, key := range e.keys() {
			put(b.waiting, key)
		}
	case StateRunning:
		for _, key := range e.keys() {
			put(b.holding, key)
		}
		put(b.running, e.Server)
	}
}

// before returns the first change, in the order of submission, that e must wait for because they
// have a table in common; nil for none.
func (b *board) before(e *entry) *entry {
	first, found := spot{}, false
	meet := func(one spot) {
		if one.id != e.ID && (!found || one.sequence < first.sequence) {
			first, found = one, true
		}
	}
	for _, key := range e.keys() {
		if row := b.waiting[key]; len(row) > 0 && row[0].sequence < e.Sequence {
			meet(row[0])
		}
		for _, one := range b.holding[key] {
			meet(one)
		}
	}
	if !found {
		return nil
	}
	return b.find(first.id)
}

func (r row) place(one spot) (int, bool) {
	return slices.BinarySearchFunc(r, one, func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.sequence, b.sequence), strings.Compare(a.id, b.id))
	})
}

func (r row) with(one spot) row {
	if at, there := r.place(one); !there {
		return slices.Insert(r, at, one)
	}
	return r
}

func (r row) without(one spot) row {
	at, there := r.place(one)
	switch {
	case !there:
		return r
	case at == 0: // the usual one, without a copy
		return r[1:]
	}
	return slices.Delete(r, at, at+1)
}

// ids are the names of a row's changes.
func (r row) ids() []string {
	var ids []string
	for _, one := range r {
		ids = append(ids, one.id)
	}
	return ids
}

// keys returns a key for each table of a change. Names that differ only in letter case have one
// key, because the server may treat them as one.
func (e *entry) keys() []string {
	var keys []string
	for _, table := range e.Tables {
		keys = append(keys, e.Server+"\x00"+folded(table.Dotted()))
	}
	return keys
}

// folded returns one text for all texts that strings.EqualFold finds equal.
func folded(text string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, text)
}
