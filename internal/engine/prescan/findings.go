package prescan

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/schema"
)

// finding has rows of one kind that a column, a constraint or a key doesn't take unchanged.
type finding struct {
	kind Kind
	// column is zero for a constraint and for a key of several columns.
	column Column
	what   string
	// owner is the name of the column, the constraint or the key.
	owner string
	// columns are the source's columns that the query shows in addition to the key.
	columns []string

	condition string // that names its rows, "" if they are all listed
	query     string // a complete statement, without condition
	rows      int64
	more      bool // more rows exist than listed
	first     []numbered
	listed    []key.Key
	needs     needs
	fix       string // if needs can't show it
}

// numbered is a key with the place of its range, or its own among twins.
type numbered struct {
	place int
	key   key.Key
}

// needs is what a definition must hold to take the rows.
type needs struct {
	length      int64
	least, most *big.Rat
	members     []uint64
}

// add widens needs by what a query found; "" is nothing.
func (n *needs) add(length int64, least, most, members string) {
	n.length = max(n.length, length)
	if value, ok := new(big.Rat).SetString(least); ok && (n.least == nil || value.Cmp(n.least) < 0) {
		n.least = value
	}
	if value, ok := new(big.Rat).SetString(most); ok && (n.most == nil || value.Cmp(n.most) > 0) {
		n.most = value
	}
	for _, text := range strings.Split(members, ",") {
		if number, err := strconv.ParseUint(text, 10, 64); err == nil && !slices.Contains(n.members, number) {
			n.members = append(n.members, number)
		}
	}
}

// findings collects. It is safe for concurrent use.
type findings struct {
	cfg   Config
	codec *key.Codec

	mu  sync.Mutex
	all []*finding
}

// of finds or begins the finding of an owner.
func (f *findings) of(fresh finding) *finding {
	for _, known := range f.all {
		if known.kind == fresh.kind && known.owner == fresh.owner {
			return known
		}
	}
	f.all = append(f.all, &fresh)
	return &fresh
}

// addRows adds rows that meet a condition.
func (f *findings) addRows(fresh finding, rows int64, first []numbered, n func(*needs)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.of(fresh)
	found.rows, found.condition = found.rows+rows, fresh.condition
	f.show(found, first)
	if n != nil {
		n(&found.needs)
	}
}

// addListed adds a row that no condition names, if there is room, and whether there are more.
func (f *findings) addListed(fresh finding, k numbered, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.of(fresh)
	if len(found.listed) == f.cfg.Listed {
		found.more = true
		return
	}
	found.rows, found.listed, found.more = found.rows+1, append(found.listed, k.key), found.more || more
	f.show(found, []numbered{k})
}

// show keeps the first keys, by their ranges.
func (f *findings) show(found *finding, first []numbered) {
	found.first = append(found.first, first...)
	slices.SortStableFunc(found.first, func(a, b numbered) int {
		if a.place != b.place {
			return a.place - b.place
		}
		return f.order(a.key, b.key)
	})
	found.first = found.first[:min(len(found.first), f.cfg.Shown)]
}

// order compares two keys, as far as their order is known here.
func (f *findings) order(a, b key.Key) int {
	order, known := f.codec.Compare(a, b)
	if !known {
		return 0
	}
	return order
}

// enough reports whether the keys of a range would not be shown, because keys of earlier ranges
// come first. (Ranges end in any order.)
func (f *findings) enough(kind Kind, owner string, place int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.all, func(found *finding) bool {
		return found.kind == kind && found.owner == owner &&
			len(found.first) == f.cfg.Shown && found.first[f.cfg.Shown-1].place < place
	})
}

// full reports whether no more rows of a kind and owner are listed.
func (f *findings) full(owner string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.all, func(found *finding) bool { return found.owner == owner && found.more })
}

// events returns all findings for the listener, first the findings that refuse the ALTER.
func (f *findings) events(s *Spec) []event.Finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.SortStableFunc(f.all, func(a, b *finding) int {
		if (a.kind == KindLoss) != (b.kind == KindLoss) {
			return map[bool]int{false: -1, true: 1}[a.kind == KindLoss]
		}
		return 0
	})
	var events []event.Finding
	for _, found := range f.all {
		slices.SortStableFunc(found.listed, f.order)
		e := event.Finding{Kind: string(found.kind), What: found.what, Name: found.owner, Rows: found.rows, AtLeast: found.more,
			Query: s.queryOf(found), Fix: found.fix, Refused: found.kind != KindLoss, At: time.Now()}
		switch {
		case s.Old:
			e.Fix = ""
		case e.Fix == "":
			e.Fix = fixOf(found)
		}
		for _, n := range found.first {
			e.Keys = append(e.Keys, s.Sync.Key.Format(n.key))
		}
		events = append(events, e)
	}
	return events
}

// queryOf returns the statement that lists all rows of a finding.
func (s *Spec) queryOf(f *finding) string {
	if f.query != "" {
		return f.query
	}
	var conditions []string
	if f.condition != "" {
		conditions = append(conditions, f.condition)
	}
	if len(f.listed) > 0 {
		conditions = append(conditions, rowsync.InKeys(s.Sync.Key, s.Sync.Key.Names(), f.listed))
	}
	return fmt.Sprintf(
		"SELECT %s FROM %s WHERE %s", schema.QuoteAll(distinct(s.Sync.Key.Names(), f.columns)),
		s.Source.Name.Quoted(), strings.Join(conditions, " OR "),
	)
}

// findingOf begins the finding of a trial.
func (t *trial) findingOf(kind Kind) finding {
	f := finding{kind: kind, column: t.column, owner: t.column.To.Name, columns: t.stage.sources()}
	to, set := t.column.To, t.column.Set
	if t.key != "" {
		f.owner, f.what = t.key, "with a value that the expression of index "+t.key+" does not take"
		return f
	}
	switch {
	case set != "" && kind == KindNull:
		f.what = "for which the expression of --set is NULL, and column " + f.owner + " is NOT NULL"
		return f
	case set != "" && kind == KindLong:
		f.what = "for which the expression of --set is too long for column " + f.owner + ", " + to.Type
		return f
	case set != "":
		f.what = "for which the expression of --set gives no value of column " + f.owner + ", " + to.Type
		return f
	}
	switch kind {
	case KindNull:
		f.what = "with NULL in column " + f.owner + ", which becomes NOT NULL"
	case KindZero:
		f.what = "with 0 in column " + f.owner + ", which becomes AUTO_INCREMENT: the server's own ALTER would give it a new number"
	case KindMerged:
		f.what = "with a value of column " + f.owner + ", the key that the run follows, that may become equal to another one"
	case KindLong:
		f.what = "too long for column " + f.owner + ", " + to.Type
	case KindRange:
		f.what = "out of range for column " + f.owner + ", " + to.Type
	case KindMember:
		f.what = "with a value of column " + f.owner + " that is not in " + to.Type
	case KindCharacters:
		f.what = "with bytes or characters in column " + f.owner + " that are none of " + to.Charset
	case KindInvalid:
		f.what = "that can't be read as a value of column " + f.owner + ", " + to.Type
	case KindCheck:
		f.owner = t.check
		f.what = "against CHECK (" + t.clause + ")"
	}
	return f
}

// findingOf begins the finding of a loss.
func (l *loss) findingOf() finding {
	if l.column.Changed != "" {
		return finding{kind: KindLoss, column: l.column, owner: l.column.To.Name, condition: l.condition,
			columns: distinct([]string{l.column.From.Name}, l.column.Reads),
			what:    "with another value in column " + l.column.To.Name + ": the expression of --set changes it"}
	}
	return finding{kind: KindLoss, column: l.column, owner: l.column.To.Name, columns: []string{l.column.From.Name}, condition: l.condition,
		what: "changed without an error in column " + l.column.To.Name + ": values " + l.column.Losses}
}
