package ledger

import (
	"strings"
)

// writing builds the statements of a table. It is immutable; the names may be those
// from before or from after a renaming of columns.
type writing struct {
	*layout
	table string   // quoted
	names []string // quoted names of the columns
	list  string   // of all columns, comma-separated

	renamed bool
}

func newWriting(l *layout, table string, renamed map[string]string) *writing {
	w := &writing{layout: l, table: quoteTable(table)}
	for _, c := range l.Columns {
		name := c.Name
		if to, ok := renamed[name]; ok {
			name = to
		}
		w.names = append(w.names, quoteName(name))
	}
	w.list = strings.Join(w.names, ", ")
	return w
}

// appendLiteral appends the SQL literal of a column's value.
func (w *writing) appendLiteral(dst []byte, column int, slot Slot, r *row) []byte {
	var buffer [256]byte
	text, ok := w.text(buffer[:0], column, slot, r)
	if !ok {
		return append(dst, "NULL"...)
	}
	switch w.Columns[column].Form {
	case Number, Bits:
		return append(dst, text...)
	case Bytes:
		return append(appendHex(append(dst, "x'"...), text), '\'')
	default:
		return appendQuoted(dst, text)
	}
}

func appendQuoted(dst, text []byte) []byte {
	dst = append(dst, '\'')
	for _, b := range text {
		switch b {
		case '\'', '\\':
			dst = append(dst, '\\', b)
		case 0:
			dst = append(dst, '\\', '0')
		default:
			dst = append(dst, b)
		}
	}
	return append(dst, '\'')
}

// appendTuple appends "(value, value, ...)" of a whole row.
func (w *writing) appendTuple(dst []byte, slot Slot, r *row) []byte {
	for i := range w.Columns {
		if i == 0 {
			dst = append(dst, '(')
		} else {
			dst = append(dst, ',')
		}
		dst = w.appendLiteral(dst, i, slot, r)
	}
	return append(dst, ')')
}

// insert begins an INSERT or REPLACE of whole rows; the tuples follow.
func (w *writing) insert(verb string) []byte {
	return append([]byte(verb), " INTO "+w.table+" ("+w.list+") VALUES "...)
}

// parts is a set of sources.
type parts uint8

func of(sources ...Source) parts {
	var p parts
	for _, s := range sources {
		p |= 1 << s
	}
	return p
}

// appendSet appends "column = value, ..." of the columns made from the given sources.
func (w *writing) appendSet(dst []byte, slot Slot, r *row, from parts) []byte {
	separator := ""
	for i, c := range w.Columns {
		if from&(1<<c.From) == 0 {
			continue
		}
		dst = append(append(append(dst, separator...), w.names[i]...), " = "...)
		dst = w.appendLiteral(dst, i, slot, r)
		separator = ", "
	}
	return dst
}

// appendKey appends the condition that finds the row of a key.
func (w *writing) appendKey(dst []byte, slot Slot, r *row) []byte {
	for i, column := range w.key {
		if i > 0 {
			dst = append(dst, " AND "...)
		}
		dst = append(append(dst, w.names[column]...), " = "...)
		dst = w.appendLiteral(dst, column, slot, r)
	}
	return dst
}

// appendRange appends the condition of the slots from low to high, both included.
func (w *writing) appendRange(dst []byte, low, high Slot) []byte {
	dst = append(append(dst, w.names[w.slot]...), " BETWEEN "...)
	dst = appendUint(dst, uint64(low)+1)
	return appendUint(append(dst, " AND "...), uint64(high)+1)
}

// expressions are what a SELECT reads the columns by, so that each comes as the text
// that Column.Text makes.
func (w *writing) expressions(readAs map[string]string) string {
	var list []string
	for i, c := range w.Columns {
		expression := w.names[i]
		switch c.Form {
		case Time:
			expression = "CAST(" + expression + " AS CHAR)"
		case Bits:
			expression += "+0"
		}
		if as, ok := readAs[c.Name]; ok {
			expression = as
		}
		list = append(list, expression)
	}
	return strings.Join(list, ", ")
}

// differences names the columns whose texts in a row read are not those remembered.
func (w *writing) differences(slot Slot, r *row, read [][]byte, buffer []byte) []int {
	var columns []int
	for i, got := range read {
		want, ok := w.text(buffer[:0], i, slot, r)
		if ok != (got != nil) || string(want) != string(got) {
			columns = append(columns, i)
		}
	}
	return columns
}
