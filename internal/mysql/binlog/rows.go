package binlog

import (
	"encoding/binary"
	"fmt"
	"time"
)

// shape is the information in the type of a rows event.
type shape struct {
	kind       Kind
	version    int
	partial    bool // PARTIAL_UPDATE_ROWS
	compressed bool // MariaDB's
}

var shapes = map[byte]shape{
	eventWriteRows1:    {kind: Insert, version: 1},
	eventUpdateRows1:   {kind: Update, version: 1},
	eventDeleteRows1:   {kind: Delete, version: 1},
	eventWriteRows2:    {kind: Insert, version: 2},
	eventUpdateRows2:   {kind: Update, version: 2},
	eventDeleteRows2:   {kind: Delete, version: 2},
	eventPartialUpdate: {kind: Update, version: 2, partial: true},
	eventMariaWrite:    {kind: Insert, version: 1, compressed: true},
	eventMariaUpdate:   {kind: Update, version: 1, compressed: true},
	eventMariaDelete:   {kind: Delete, version: 1, compressed: true},
}

// Table ids of events that only end a statement, in 3 and in 6 bytes.
const (
	noTable3 = 1<<24 - 1
	noTable6 = 1<<48 - 1
)

// noForeignKeyChecks is a flag of a rows event.
const noForeignKeyChecks = 1 << 1

// rows handles a rows event. For a table that is not watched it ends at the map.
func (s *stream) rows(h header, body []byte) error {
	if len(body) < 8 {
		return fmt.Errorf("%w: rows event", errGarbled)
	}
	id := uint64(binary.LittleEndian.Uint32(body)) | uint64(binary.LittleEndian.Uint16(body[4:]))<<32
	t, mapped := s.tables[id]
	switch {
	case t == onScales:
		s.weight.Add(int64(h.size))
		return nil
	case t != nil:
	case mapped || id == noTable3 || id == noTable6:
		return nil
	default:
		return fmt.Errorf("%w: rows of table id %d come without its table map", errGarbled, id)
	}

	tuples, after, err := s.tuples(t, shapes[h.kind], body)
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	if len(tuples) == 0 && !t.lax {
		return nil
	}
	s.pending = true
	return s.emit(Rows{
		Watch:   t.watch,
		Kind:    shapes[h.kind].kind,
		Tuples:  tuples,
		After:   after,
		MayBeXA: s.xa || s.maria,

		Unchecked: binary.LittleEndian.Uint16(body[6:])&noForeignKeyChecks != 0,

		At: time.Unix(int64(h.at), 0),
	})
}

// tuples decodes the watched columns of a rows event. after is Rows.After.
func (s *stream) tuples(t *table, shape shape, body []byte) (tuples [][]any, after []int, err error) {
	c := cursor{data: body}
	c.bytes(6 + 2) // table id, flags
	if shape.version == 2 {
		c.bytes(max(c.uint(2), 2) - 2) // the length counts itself
	}
	count := c.packed()
	if !c.short && count != uint64(len(t.columns)) {
		return nil, nil, fmt.Errorf("%w: rows of %d columns under a table map of %d", errGarbled, count, len(t.columns))
	}
	included := c.bytes((count + 7) / 8)
	includedAfter := included
	if shape.kind == Update {
		includedAfter = c.bytes((count + 7) / 8)
	}
	if c.short {
		return nil, nil, fmt.Errorf("%w: head of a rows event", errGarbled)
	}
	data := c.data
	if shape.compressed {
		if data, err = decompressMaria(data); err != nil {
			return nil, nil, err
		}
	}

	all, err := t.images(shape, data, included, includedAfter, s.spans(t))
	if err != nil {
		return nil, nil, err
	}
	if (t.after || t.lax) && all.images == nil {
		return nil, nil, nil
	}
	if tuples, err = t.decode(s.decoder, all.images); err != nil {
		return nil, nil, err
	}
	for _, a := range all.absences {
		tuples[a.tuple][a.slot] = Default{}
	}
	return tuples, all.after, nil
}

var errEmptyImage = fmt.Errorf("%w: row image of no bytes", errGarbled)

// absence is a value that a row event leaves out for its default.
type absence struct{ tuple, slot int }

// reduced are the images of all rows of an event, reduced to the watched columns.
type reduced struct {
	images   []byte
	absences []absence
	after    []int // images after an UPDATE
	tuples   int   // images so far
}

// add adds an image. Absent values get their defaults.
func (r *reduced) add(data []byte, spans []span) {
	for slot, s := range spans {
		if s.presence == absent {
			r.absences = append(r.absences, absence{r.tuples, slot})
		}
	}
	r.images = appendImage(r.images, data, spans)
	r.tuples++
}

// images returns the images of all rows reduced to the watched columns. An update has the image
// before it, and the image after it if that differs; or only the image after it, see Watch.
func (t *table) images(shape shape, data, included, includedAfter []byte, spans [2][]span) (all reduced, err error) {
	before, after := spans[0], spans[1]
	if len(data) == 0 && shape.kind == Insert {
		// INSERT () VALUES () under MINIMAL: a row of no bytes, all defaults. However
		// many there are, they have one key.
		for slot := range before {
			before[slot] = span{presence: absent}
		}
		all.add(nil, before)
		return all, nil
	}
	for pos := 0; pos < len(data); {
		start := pos
		if pos, err = t.walk(data, pos, included, nil, before); err != nil {
			return all, err
		}
		if shape.kind == Update {
			if pos, err = t.walkAfter(shape, data, pos, includedAfter, after); err != nil {
				return all, err
			}
		}
		if err := t.reduce(&all, shape, data, before, after); err != nil {
			return all, err
		}
		if pos == start {
			return all, errEmptyImage
		}
	}
	return all, nil
}

// reduce adds the images of one row. An update with only the image after it may lack watched
// columns, as it does not change them (MINIMAL).
func (t *table) reduce(all *reduced, shape shape, data []byte, before, after []span) error {
	update := shape.kind == Update
	if update && t.after {
		if incomplete(after, false) < 0 {
			all.add(data, after)
		}
		return nil
	}
	if slot := incomplete(before, shape.kind == Insert); slot >= 0 {
		return t.incomplete(slot)
	}
	all.add(data, before)
	if !update || !overlay(data, before, after) {
		return nil
	}
	if slot := incomplete(after, false); slot >= 0 {
		return t.incomplete(slot)
	}
	all.after = append(all.after, all.tuples)
	all.add(data, after)
	return nil
}

// walkAfter walks an after image. In a partial update it begins with the options of the update and,
// if they announce it, a bit for each JSON column of the table.
func (t *table) walkAfter(shape shape, data []byte, pos int, included []byte, spans []span) (int, error) {
	var partial []byte
	if shape.partial {
		c := cursor{data: data[pos:]}
		if options := c.packed(); options&1 != 0 {
			partial = c.bytes(uint64(bitmapSize(t.json)))
		}
		if c.short {
			return 0, errShortImage
		}
		pos = len(data) - len(c.data)
	}
	return t.walk(data, pos, included, partial, spans)
}

func (t *table) incomplete(slot int) error {
	if t.lax {
		return nil
	}
	return fmt.Errorf("%w: its column number %d in the watch", ErrIncomplete, slot)
}

// spans returns the two buffers of spans that a table's images are walked with.
func (s *stream) spans(t *table) [2][]span {
	if n := 2 * t.slots; cap(s.spanBuffer) < n {
		s.spanBuffer = make([]span, n)
	}
	return [2][]span{s.spanBuffer[:t.slots], s.spanBuffer[t.slots : 2*t.slots]}
}
