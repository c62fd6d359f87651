package key

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"

	"midstream/internal/mysql/schema"
)

// Key holds the values of one row's key columns. The zero Key is no key.
type Key string

// Part is one column of a key.
type Part struct {
	Column     schema.Column
	Descending bool
}

// Codec encodes and decodes the keys of one table. It is safe for concurrent use once SetDefault is not called any more.
type Codec struct {
	columns []column
	parts   []Part
	// defaults are the texts of the columns' defaults, as FromText reads them; the texts of NULL are nil. Others are not known.
	defaults map[int][]byte
}

// column is the encoding of one column's values.
type column interface {
	// ordered reports whether encoded values compare as the server compares the values.
	ordered() bool
	// selectExpr is the expression that reads the column for fromText.
	selectExpr(quoted string) string
	fromText(dst []byte, text []byte) ([]byte, error)
	fromBinlog(dst []byte, value any) ([]byte, error)
	// literal decodes the value at the head of src; rest follows it.
	literal(src string) (literal string, rest string)
}

// NewCodec returns the codec of a key. It fails with the reason if a part has a type that can't be
// a complete key column.
func NewCodec(parts []Part) (*Codec, error) {
	c := &Codec{parts: parts}
	for _, p := range parts {
		col, err := columnFor(p.Column)
		if err != nil {
			return nil, err
		}
		c.columns = append(c.columns, col)
	}
	return c, nil
}

// Parts returns the key's columns; the caller must not change them.
func (c *Codec) Parts() []Part { return c.parts }

// Names returns the names of the key's columns.
func (c *Codec) Names() []string {
	names := make([]string, len(c.parts))
	for i, p := range c.parts {
		names[i] = p.Column.Name
	}
	return names
}

// Ordered reports whether any two keys can be compared here as the server does it.
func (c *Codec) Ordered() bool {
	for _, col := range c.columns {
		if !col.ordered() {
			return false
		}
	}
	return true
}

// SelectExprs returns one expression for each key column. A query that selects them gives the texts
// that FromText reads.
func (c *Codec) SelectExprs() []string {
	return c.SelectExprsOf(c.Names())
}

// SelectExprsOf is SelectExprs for columns of the same types that have other names.
func (c *Codec) SelectExprsOf(names []string) []string {
	exprs := make([]string, len(c.columns))
	for i, col := range c.columns {
		exprs[i] = col.selectExpr(schema.Quote(names[i]))
	}
	return exprs
}

// FromText encodes a row that was read with SelectExprs.
func (c *Codec) FromText(texts [][]byte) (Key, error) {
	if len(texts) != len(c.columns) {
		return "", fmt.Errorf("key has %d columns, got %d values", len(c.columns), len(texts))
	}
	return c.encode(func(i int, dst []byte) ([]byte, error) {
		if texts[i] == nil {
			return nil, ErrNull
		}
		dst, err := c.columns[i].fromText(dst, texts[i])
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrOtherType, err)
		}
		return dst, err
	})
}

// ErrOtherType means that a text is no value of the key's type. The old table of an undo may have such keys, if its type was wider.
var ErrOtherType = errors.New("not a value of the key's type")

// absent is a value that a row event leaves out (binlog.Default): the row has the column's default.
type absent interface{ Absent() }

// FromBinlog encodes key values as a row event gives them.
func (c *Codec) FromBinlog(values []any) (Key, error) {
	if len(values) != len(c.columns) {
		return "", fmt.Errorf("key has %d columns, got %d values", len(c.columns), len(values))
	}
	return c.encode(func(i int, dst []byte) ([]byte, error) {
		if _, left := values[i].(absent); left {
			return c.fromDefault(i, dst)
		}
		if values[i] == nil {
			return nil, ErrNull
		}
		return c.columns[i].fromBinlog(dst, values[i])
	})
}

// SetDefault sets the default of a column as FromText reads it, for row events that leave the column out; nil is NULL. REQUIRES: no
// other method has been called.
func (c *Codec) SetDefault(part int, text []byte) {
	if c.defaults == nil {
		c.defaults = map[int][]byte{}
	}
	c.defaults[part] = text
}

func (c *Codec) fromDefault(part int, dst []byte) ([]byte, error) {
	switch text, known := c.defaults[part]; {
	case !known:
		return nil, errors.New("the row event leaves it out (binlog_row_image), and its default is not known")
	case text == nil:
		return nil, ErrNull
	default:
		return c.columns[part].fromText(dst, text)
	}
}

// ErrNull means that a key has a NULL: its row is not followed.
var ErrNull = errors.New("value is NULL")

// Nullable are the columns that may be NULL.
func (c *Codec) Nullable() []string {
	var names []string
	for _, p := range c.parts {
		if p.Column.Nullable {
			names = append(names, p.Column.Name)
		}
	}
	return names
}

func (c *Codec) encode(one func(i int, dst []byte) ([]byte, error)) (Key, error) {
	buf := make([]byte, 0, 64)
	for i := range c.columns {
		start := len(buf)
		var err error
		if buf, err = one(i, buf); err != nil {
			return "", fmt.Errorf("key column %s: %w", c.parts[i].Column.Name, err)
		}
		if c.parts[i].Descending {
			invert(buf[start:])
		}
	}
	return Key(buf), nil
}

// Literals returns one SQL literal for each key column.
func (c *Codec) Literals(k Key) []string {
	literals := make([]string, len(c.columns))
	rest := string(k)
	for i, col := range c.columns {
		if c.parts[i].Descending {
			inverted := []byte(rest)
			invert(inverted)
			var after string
			literals[i], after = col.literal(string(inverted))
			rest = rest[len(rest)-len(after):]
			continue
		}
		literals[i], rest = col.literal(rest)
	}
	return literals
}

// Format returns the key for people: column=value, column=value.
func (c *Codec) Format(k Key) string {
	var b strings.Builder
	for i, l := range c.Literals(k) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s=%s", c.parts[i].Column.Name, l)
	}
	return b.String()
}

// Compare orders two keys as the key's index does. It returns known=false if a column decides whose
// collation only the server knows.
func (c *Codec) Compare(a, b Key) (order int, known bool) {
	restA, restB := string(a), string(b)
	for i, col := range c.columns {
		valueA, afterA := c.split(i, col, restA)
		valueB, afterB := c.split(i, col, restB)
		if valueA != valueB {
			return strings.Compare(valueA, valueB), col.ordered()
		}
		restA, restB = afterA, afterB
	}
	return 0, true
}

// split cuts the encoded value of column i off the head of rest.
func (c *Codec) split(i int, col column, rest string) (value, after string) {
	n := 0
	if f, ok := col.(interface{ width() int }); ok {
		n = f.width()
	} else {
		n = terminated(rest, c.parts[i].Descending)
	}
	return rest[:n], rest[n:]
}

// seed makes Partition stable within a process.
var seed = maphash.MakeSeed()

// Partition assigns the key to one of n workers. Keys that the server treats as equal get the same
// worker: only columns without a collation count.
func (c *Codec) Partition(k Key, n int) int {
	if n <= 1 {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(seed)
	rest := string(k)
	for i, col := range c.columns {
		var value string
		value, rest = c.split(i, col, rest)
		if col.ordered() {
			h.WriteString(value)
		}
	}
	return int(h.Sum64() % uint64(n))
}

func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

const signBit = 1 << 63

func appendUint(dst []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(dst, v) }

func readUint(src string) (uint64, string) {
	return binary.BigEndian.Uint64([]byte(src[:8])), src[8:]
}
