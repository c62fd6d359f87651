package rowsync

import (
	"slices"
	"strconv"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/schema"
)

// InRange returns the condition for a key range. It makes the server scan the index of the key from
// one bound to the other and no further, for any number of columns. So it cuts the interval into
// pieces, and in each piece all columns but the last are fixed. MySQL can't use an index for (a, b)
// >= (1, 2). For a > 1 OR a = 1 AND b >= 2 it scans from a = 1 to the end if AND adds an upper
// bound.
func InRange(codec *key.Codec, columns []string, r key.Range) string {
	pieces := Pieces(codec, columns, r)
	switch len(pieces) {
	case 0:
		return nothing
	case 1:
		return pieces[0]
	}
	return "(" + strings.Join(pieces, " OR ") + ")"
}

// Pieces returns the conditions that InRange joins by OR. No row meets two of them; where
// r has no upper bound they are in key order.
func Pieces(codec *key.Codec, columns []string, r key.Range) []string {
	var from, to []string
	if r.From != "" {
		from = codec.Literals(r.From)
	}
	if r.To != "" {
		to = codec.Literals(r.To)
	}
	p := intervals{columns: schemaQuoted(columns)}
	for _, part := range codec.Parts() {
		p.descending = append(p.descending, part.Descending)
		enum := part.Column.DataType == "enum"
		p.collated = append(p.collated, !enum && part.Column.Charset != "" && part.Column.Charset != "binary")
		p.members = append(p.members, 0)
		if enum {
			p.members[len(p.members)-1] = len(part.Column.Members)
		}
	}
	pieces := p.between(0, from, to)
	if len(pieces) == 0 {
		pieces = []string{"TRUE"}
	}
	for i, part := range codec.Parts() {
		if part.Column.Nullable { // a row with NULL is in no range
			pieces = and(p.columns[i]+" IS NOT NULL", pieces)
		}
	}
	return slices.DeleteFunc(pieces, func(piece string) bool { return strings.Contains(piece, nothing) })
}

// nothing is the condition that no row meets. No literal of a key contains it.
const nothing = "FALSE"

type intervals struct {
	columns    []string
	descending []bool
	// collated marks columns for which the server may consider different literals equal.
	collated []bool
	members  []int // of an ENUM, else 0
}

// between covers from <= k < to, if the columns before i are equal in both bounds. A nil bound
// means no bound. No pieces means everything.
func (p intervals) between(i int, from, to []string) []string {
	switch {
	case from == nil && to == nil:
		return nil
	case to == nil:
		return p.atLeast(i, from)
	case from == nil:
		return p.below(i, to)
	case from[i] == to[i] && i < len(p.columns)-1:
		return and(p.columns[i]+" = "+from[i], p.between(i+1, from, to))
	case i == len(p.columns)-1:
		return []string{p.after(i, from[i], true) + " AND " + p.before(i, to[i], false)}
	}
	above, below := p.after(i, from[i], false), p.before(i, to[i], false)
	first := and(p.columns[i]+" = "+from[i], p.atLeast(i+1, from))
	last := and(p.columns[i]+" = "+to[i], p.below(i+1, to))
	if !p.collated[i] {
		return slices.Concat(first, []string{above + " AND " + below}, last)
	}
	same := and(p.columns[i]+" = "+from[i]+" AND "+p.columns[i]+" = "+to[i], p.between(i+1, from, to))
	return slices.Concat(and(below, first), []string{above + " AND " + below}, and(above, last), same)
}

// atLeast covers k >= from.
func (p intervals) atLeast(i int, from []string) []string {
	if i == len(p.columns)-1 {
		return []string{p.after(i, from[i], true)}
	}
	pieces := and(p.columns[i]+" = "+from[i], p.atLeast(i+1, from))
	return append(pieces, p.after(i, from[i], false))
}

// below covers k < to.
func (p intervals) below(i int, to []string) []string {
	if i == len(p.columns)-1 {
		return []string{p.before(i, to[i], false)}
	}
	pieces := []string{p.before(i, to[i], false)}
	return append(pieces, and(p.columns[i]+" = "+to[i], p.below(i+1, to))...)
}

func (p intervals) after(i int, literal string, orEqual bool) string {
	return p.compare(i, literal, !p.descending[i], orEqual)
}

func (p intervals) before(i int, literal string, orEqual bool) string {
	return p.compare(i, literal, p.descending[i], orEqual)
}

func (p intervals) compare(i int, literal string, greater, orEqual bool) string {
	if p.members[i] > 0 {
		return p.compareMember(i, literal, greater, orEqual)
	}
	operator := " < "
	if greater {
		operator = " > "
	}
	if orEqual {
		operator = operator[:2] + "= "
	}
	return p.columns[i] + operator + literal
}

// compareMember lists the members of an ENUM on one side of a literal. The literal is a number. The
// server finds single members by the index, but reads all of the index for < and > (seen in 8.0.12
// and 9.7.4). Number 0 is the empty string of an invalid value.
func (p intervals) compareMember(i int, literal string, greater, orEqual bool) string {
	bound, _ := strconv.Atoi(literal)
	from, to := 0, bound-1
	if greater {
		from, to = bound+1, p.members[i]
	}
	if orEqual && greater {
		from--
	}
	if orEqual && !greater {
		to++
	}
	if from > to {
		return nothing
	}
	list := make([]string, 0, to-from+1)
	for n := from; n <= to; n++ {
		list = append(list, strconv.Itoa(n))
	}
	return p.columns[i] + " IN (" + strings.Join(list, ", ") + ")"
}

// and puts a condition before each piece; if there are no pieces, it returns the condition alone.
func and(condition string, pieces []string) []string {
	if len(pieces) == 0 {
		return []string{condition}
	}
	joined := make([]string, len(pieces))
	for i, piece := range pieces {
		joined[i] = condition + " AND " + piece
	}
	return joined
}

// InKeys returns the condition for a list of keys.
//
// NB: (a, b) IN ((1, 2), (3, 4)) finds nothing if a is an ENUM or a SET. From the second row on the
// server compares its text with the number (seen in 8.0.12 and 9.7.4). InKeys writes such keys out.
func InKeys(codec *key.Codec, columns []string, keys []key.Key) string {
	var b strings.Builder
	quoted := schemaQuoted(columns)
	if len(quoted) > 1 && Numbered(codec) {
		writeAlternatives(&b, codec, quoted, keys)
		return b.String()
	}
	writeTuple(&b, quoted)
	b.WriteString(" IN (")
	for i, k := range keys {
		if i > 0 {
			b.WriteString(", ")
		}
		writeTuple(&b, codec.Literals(k))
	}
	b.WriteString(")")
	return b.String()
}

// Numbered reports whether a column's literal is a number and its value a text (ENUM, SET).
func Numbered(codec *key.Codec) bool {
	for _, part := range codec.Parts() {
		if part.Column.HasMembers() {
			return true
		}
	}
	return false
}

func writeAlternatives(b *strings.Builder, codec *key.Codec, columns []string, keys []key.Key) {
	b.WriteString("(")
	for i, k := range keys {
		if i > 0 {
			b.WriteString(" OR ")
		}
		for j, literal := range codec.Literals(k) {
			if j > 0 {
				b.WriteString(" AND ")
			}
			b.WriteString(columns[j] + " = " + literal)
		}
	}
	b.WriteString(")")
}

func writeTuple(b *strings.Builder, literals []string) {
	if len(literals) == 1 {
		b.WriteString(literals[0])
		return
	}
	b.WriteString("(" + strings.Join(literals, ", ") + ")")
}

func schemaQuoted(columns []string) []string {
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = schema.Quote(c)
	}
	return quoted
}
