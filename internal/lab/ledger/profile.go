package ledger

import (
	"fmt"
	"slices"
	"strings"
)

// Slot is the ledger's own name of a key value: a small number.
type Slot uint32

// Source says from which number of a row a column's value is made.
type Source uint8

// The sources.
const (
	FromSlot    Source = iota // the slot; its text is the number slot+1, by which rows are found again
	FromKey                   // slot and spelling, as slot | spelling<<32
	FromUnique0               // id of the first unique value
	FromUnique1
	FromUnique2
	FromPlain // nonce of the plain columns
	FromWide  // nonce of the wide columns
)

// Form says how a value's text becomes a literal, and how the column is read back.
type Form uint8

// The forms.
const (
	Number Form = iota // the text as it is
	Text               // quoted
	Time               // quoted; read as CAST(.. AS CHAR), whatever the driver does with times
	Bytes              // a hexadecimal literal
	Bits               // a number; read as column+0
)

// Column is one column that the ledger knows.
type Column struct {
	Name       string
	Definition string // what follows the name in CREATE TABLE
	From       Source
	Form       Form
	// Text appends the value made from n exactly as the server prints it; ok is false
	// for NULL. Values of two ids of a unique column, or of two slots of a key, must
	// differ in the column's collation. Values of two nonces must differ in at least one
	// plain and in one wide column: the server counts rows changed. Unused for FromSlot.
	Text func(dst []byte, n uint64) (text []byte, ok bool)
	// Server makes the same value of a unique column in SQL; in it {n} stands for the id.
	// A profile that has it for all its keys is seeded inside the server.
	Server string
}

// Profile is a kind of table: its columns and how their values are made. It is not
// changed once a ledger has it.
type Profile struct {
	Name    string
	Columns []Column
	// Extra are definitions of columns that the ledger does not know.
	Extra []string
	// Key names the columns that find one row (the primary key, or a unique one); they
	// are FromSlot or FromKey.
	Key []string
	// Keys are the definitions of keys that must stand before the first row; Indexes
	// those that may be added to a full table.
	Keys    []string
	Indexes []string
	// Tail follows the closing parenthesis of CREATE TABLE.
	Tail string
	// Spellings is the number of ways to write a key that the server takes for equal;
	// 0 means 1.
	Spellings int
}

// maxUnique is the number of unique values that a row may have beside its key.
const maxUnique = 3

// layout is a profile as the writer uses it. It is immutable.
type layout struct {
	Profile
	slot     int             // index of the FromSlot column
	key      []int           // indexes of the key columns
	uniques  int             // number of unique values
	nullable [maxUnique]bool // freed by NULL
	names    []string        // quoted names
	by       map[string]int  // index by name
}

func newLayout(p Profile) (*layout, error) {
	l := &layout{Profile: p, slot: -1, by: map[string]int{}}
	l.Spellings = max(l.Spellings, 1)
	for i, c := range p.Columns {
		l.by[c.Name] = i
		l.names = append(l.names, quoteName(c.Name))
		switch c.From {
		case FromSlot:
			l.slot = i
		case FromUnique0, FromUnique1, FromUnique2:
			k := int(c.From - FromUnique0)
			l.uniques = max(l.uniques, k+1)
			l.nullable[k] = !strings.Contains(strings.ToUpper(c.Definition), "NOT NULL")
		}
	}
	if l.slot < 0 {
		return nil, fmt.Errorf("profile %s: no column made from the slot", p.Name)
	}
	for _, name := range p.Key {
		i, ok := l.by[name]
		if !ok || l.Columns[i].From > FromKey {
			return nil, fmt.Errorf("profile %s: %s can't be a key column", p.Name, name)
		}
		l.key = append(l.key, i)
	}
	if len(l.key) == 0 {
		return nil, fmt.Errorf("profile %s: no key", p.Name)
	}
	return l, nil
}

// createTable returns the CREATE TABLE statement of the profile.
func (l *layout) createTable(table string) string {
	var parts []string
	for i, c := range l.Columns {
		parts = append(parts, l.names[i]+" "+c.Definition)
	}
	parts = slices.Concat(parts, l.Extra, l.Keys, l.Indexes)
	return fmt.Sprintf("CREATE TABLE %s (\n  %s\n) %s", table, strings.Join(parts, ",\n  "), l.Tail)
}

// number returns what a column's value is made from.
func (r *row) number(slot Slot, from Source) uint64 {
	switch from {
	case FromSlot:
		return uint64(slot)
	case FromKey:
		return uint64(slot) | uint64(r.spelling)<<32
	case FromPlain:
		return uint64(r.plain)
	case FromWide:
		return uint64(r.wide)
	default:
		return uint64(r.unique[from-FromUnique0])
	}
}

// text appends the text of a column's value; ok is false for NULL.
func (l *layout) text(dst []byte, column int, slot Slot, r *row) ([]byte, bool) {
	c := &l.Columns[column]
	switch {
	case c.From == FromSlot:
		return appendUint(dst, uint64(slot)+1), true
	case c.From >= FromUnique0 && c.From <= FromUnique2 && r.unique[c.From-FromUnique0] == noID:
		return dst, false
	}
	return c.Text(dst, r.number(slot, c.From))
}

func quoteName(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// quoteTable quotes "table" or "database.table".
func quoteTable(name string) string {
	if database, table, ok := strings.Cut(name, "."); ok {
		return quoteName(database) + "." + quoteName(table)
	}
	return quoteName(name)
}
