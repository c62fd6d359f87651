package binlog

import (
	"bytes"
	"fmt"
	"math/bits"
)

// presence is how a row image holds a column.
type presence uint8

const (
	absent presence = iota // left out of the image
	null
	value
	difference // a partial JSON update: no value
)

// span is the place of a watched column's value in an event's data.
type span struct {
	from, to int
	presence presence
}

// walk steps over one row image from pos, and returns the image's end. It records in spans, by
// slot, where the watched columns are. included has a bit for each column that the image holds.
// partial has a bit for each JSON column that is a difference; it may be nil.
func (t *table) walk(data []byte, pos int, included, partial []byte, spans []span) (int, error) {
	nulls := data[pos:]
	if pos += bitmapSize(ones(included, len(t.columns))); pos > len(data) {
		return 0, errShortImage
	}

	seen, jsons := 0, 0
	for i := range t.columns {
		col := &t.columns[i]
		found := value
		if col.json {
			if partial != nil && bit(partial, jsons) == 1 {
				found = difference
			}
			jsons++
		}
		from := pos
		switch {
		case bit(included, i) == 0:
			found = absent
		case bit(nulls, seen) == 1:
			found = null
			seen++
		default:
			seen++
			size := col.fixed
			if col.prefix > 0 {
				if len(data)-pos < col.prefix {
					return 0, errShortImage
				}
				for j := range col.prefix {
					size |= int(data[pos+j]) << (8 * j)
				}
				size += col.prefix
			}
			if size > len(data)-pos {
				return 0, errShortImage
			}
			pos += size
		}
		if col.slot >= 0 {
			spans[col.slot] = span{from: from, to: pos, presence: found}
		}
	}
	return pos, nil
}

var errShortImage = fmt.Errorf("%w: row image runs over the end of its event", errGarbled)

// overlay fills the after image's gaps with the before image, because an update leaves out
// unchanged columns. It reports whether any watched column has another value.
func overlay(data []byte, before, after []span) (changed bool) {
	for i := range after {
		b, a := before[i], after[i]
		if a.presence == absent {
			after[i] = b
			continue
		}
		if a.presence != b.presence || !bytes.Equal(data[a.from:a.to], data[b.from:b.to]) {
			changed = true
		}
	}
	return changed
}

// incomplete returns the slot of a column with a value that can't be known, or -1. An inserted row
// may lack a column.
func incomplete(spans []span, insert bool) int {
	for slot, s := range spans {
		if s.presence == difference || s.presence == absent && !insert {
			return slot
		}
	}
	return -1
}

// appendImage appends the row image that has the watched columns only.
func appendImage(dst, data []byte, spans []span) []byte {
	head := len(dst)
	dst = append(dst, make([]byte, bitmapSize(len(spans)))...)
	for i, s := range spans {
		if s.presence == value {
			dst = append(dst, data[s.from:s.to]...)
		} else {
			dst[head+i/8] |= 1 << (i % 8)
		}
	}
	return dst
}

func bitmapSize(n int) int { return (n + 7) / 8 }

func bit(bitmap []byte, i int) int { return int(bitmap[i>>3]>>(i&7)) & 1 }

// ones counts the first n bits of a bitmap that are set.
func ones(bitmap []byte, n int) int {
	count := 0
	for _, b := range bitmap[:n/8] {
		count += bits.OnesCount8(b)
	}
	if n%8 > 0 {
		count += bits.OnesCount8(bitmap[n/8] & (1<<(n%8) - 1))
	}
	return count
}
