package binlog

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"github.com/go-mysql-org/go-mysql/replication"

	"midstream/internal/mysql/schema"
)

// stream turns the events of one dump, in order, into calls of emit. It knows nothing
// of the connection.
type stream struct {
	watches []Watch
	passed  GTIDs // groups to pass over
	handle  func(Event) error
	decoder *replication.RowsEvent

	at Position // end of the current event
	// from is the offset before which events are passed over; 0 means none.
	from uint64
	// began means that the server took the position: an event of the file came, or a heartbeat.
	began    bool
	idle     bool // the last event was a heartbeat
	files    *files
	checksum bool // events end in a CRC32
	maria    bool
	inside   bool // of a compressed transaction

	// The group.
	// open means that BEGIN or its like was seen, so a statement doesn't end the group.
	open    bool
	pending bool // rows were handed out
	xa      bool // it began with XA START
	pass    bool // it is passed over

	tables map[uint64]*table // the group's, by id; nil: not watched
	known  []*table          // by watch, the last seen

	weighed schema.Name // see Reader.Weigh
	weight  *atomic.Int64

	payload    payload
	spanBuffer []span
	stopped    bool // the handler returned an error
}

func newStream(watches []Watch, passed GTIDs, from Position, handle func(Event) error) (*stream, error) {
	decoder, err := newRowDecoder()
	if err != nil {
		return nil, fmt.Errorf("row decoder: %w", err)
	}
	s := &stream{
		watches: watches,
		passed:  passed,
		handle:  handle,
		files:   &files{},
		decoder: decoder,
		at:      from,
		tables:  map[uint64]*table{},
		known:   make([]*table, len(watches)),
	}
	if from.Offset > math.MaxUint32 {
		s.from = from.Offset
		s.at.Offset = firstEvent
	}
	return s, nil
}

// firstEvent is the offset of a file's first event, behind the magic number.
const firstEvent = 4

// event handles one event. Its data is valid until event returns.
func (s *stream) event(data []byte) error {
	h, err := readHeader(data)
	if err != nil {
		return s.fail(err)
	}
	s.idle = h.kind == eventHeartbeat || h.kind == eventHeartbeat2
	if h.kind == eventFormat {
		return s.fail(s.format(h, data))
	}
	if s.checksum {
		if data, err = cutChecksum(data); err != nil {
			return s.fail(err)
		}
	}
	body := data[headerSize:]
	if h.kind == eventRotate {
		return s.fail(s.rotate(h, body))
	}
	if s.idle {
		s.began = true
		return nil
	}
	before := s.at
	s.advance(h)
	if s.from > 0 {
		if before.Offset < s.from {
			return nil
		}
		s.from = 0
	}
	return s.fail(s.dispatch(h, body, before))
}

// dispatch handles an event of the file, or of a compressed transaction.
func (s *stream) dispatch(h header, body []byte, before Position) error {
	if s.pass {
		if _, rows := shapes[h.kind]; rows || h.kind == eventTableMap {
			return nil
		}
	}
	switch h.kind {
	case eventTableMap:
		return s.tableMap(body)
	case eventWriteRows1, eventUpdateRows1, eventDeleteRows1,
		eventWriteRows2, eventUpdateRows2, eventDeleteRows2, eventPartialUpdate,
		eventMariaWrite, eventMariaUpdate, eventMariaDelete:
		return s.rows(h, body)
	case eventQuery, eventMariaQuery, eventExecLoadQuery:
		var extra uint64
		if h.kind == eventExecLoadQuery {
			extra = 13 // the file's id, the place of its name in the statement, what to do with duplicates
		}
		q, err := readQuery(body, extra, h.kind == eventMariaQuery)
		if err != nil {
			return err
		}
		return s.query(q)
	case eventXID:
		return s.endGroup(Commit{End: s.at})
	case eventXAPrepare:
		return s.xaPrepare(body)
	case eventPayload:
		return s.transaction(body)
	case eventGTID, eventAnonymousGTID, eventTaggedGTID, eventMariaGTID:
		return s.beginGroup(h, body, before)
	case eventIncident:
		return ErrIncident
	case eventStop, eventIntvar, eventAppendBlock, eventDeleteFile, eventRand, eventUserVar,
		eventBeginLoadQuery, eventIgnorable, eventRowsQuery, eventPreviousGTIDs, eventTxContext,
		eventViewChange, eventMariaAnnotate, eventMariaCheckpoint, eventMariaGTIDList, eventMariaEncryption:
		return nil
	}
	if h.flags&flagIgnorable != 0 {
		return nil
	}
	return fmt.Errorf("%w: event type %d", ErrUnsupported, h.kind)
}

// beginGroup handles the GTID event (there is one without GTIDs, too) at a group's head.
func (s *stream) beginGroup(h header, body []byte, before Position) error {
	if s.open || s.pending {
		// The group before has no end: a server that crashed while it wrote left it so
		// (MariaDB doesn't cut it off). Nothing of it was committed.
		if err := s.endGroup(Commit{End: before}); err != nil {
			return err
		}
	}
	if h.kind == eventMariaGTID {
		c := cursor{data: body}
		c.bytes(8 + 4) // sequence number, domain
		const standalone = 1
		s.open = c.uint(1)&standalone == 0 // it replaces BEGIN
	}
	gtid, named, err := readGTID(h.kind, h.server, body)
	if err != nil || !named {
		return err
	}
	s.pass = s.passed.Has(gtid)
	return s.emit(Begun{GTID: gtid})
}

// endGroup hands out a group's last event.
func (s *stream) endGroup(e Event) error {
	if s.pass {
		e = Commit{End: s.at}
	}
	s.open, s.pending, s.xa, s.pass = false, false, false, false
	clear(s.tables)
	return s.emit(e)
}

// format handles the event at a file's head. The server also sends it, without a position, when
// reading starts further on.
func (s *stream) format(h header, data []byte) error {
	const algorithm = 1 + checksumSize // from the end, in every server since 5.6
	if len(data) < headerSize+2+50+4+1+algorithm {
		return fmt.Errorf("%w: format description", errGarbled)
	}
	switch data[len(data)-algorithm] {
	case 0:
		s.checksum = false
	case 1:
		s.checksum = true
		if _, err := cutChecksum(data); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: checksum algorithm %d", ErrUnsupported, data[len(data)-algorithm])
	}
	s.maria = strings.Contains(string(data[headerSize+2:headerSize+2+50]), "MariaDB")
	if err := s.files.opened(s.at.File, h.at); err != nil {
		return err
	}
	if h.end != 0 {
		s.advance(h)
	}
	return nil
}

// rotate handles the change to another file. The server announces each file twice: at
// the end of the one before, unless it crashed there, and when it opens the file.
func (s *stream) rotate(h header, body []byte) error {
	c := cursor{data: body}
	offset := c.uint(8)
	if c.short || len(c.data) == 0 {
		return fmt.Errorf("%w: rotate", errGarbled)
	}
	if string(c.data) == s.at.File {
		return nil
	}
	if s.at.Offset < s.from {
		return fmt.Errorf("%w: %s ends before offset %d", ErrPurged, s.at.File, s.from)
	}
	if h.flags&flagArtificial != 0 {
		if err := s.files.jumped(s.at.File, string(c.data)); err != nil {
			return err
		}
	}
	s.from = 0
	s.at = Position{File: string(c.data), Offset: offset}
	clear(s.tables)
	return s.emit(Rotated{To: s.at})
}

// advance moves the position to the end of an event.
//
// The header holds 32 bits of it. In a file all events follow each other, so the end is known
// beforehand and the header only confirms it. If the header has a higher position, there is a gap:
// reading began here, or the server left events out. If it has a lower one, the event isn't from
// this file.
func (s *stream) advance(h header) {
	next := s.at.Offset + uint64(h.size)
	switch {
	case h.flags&flagArtificial != 0:
	case uint32(next) == h.end, s.maria && h.end == 0:
		s.at.Offset = next
	case h.end > uint32(s.at.Offset):
		s.at.Offset += uint64(h.end - uint32(s.at.Offset))
	}
	s.began = s.began || h.flags&flagArtificial == 0
}

// emit hands an event to the handler. The handler's error ends the stream unchanged.
func (s *stream) emit(e Event) error {
	err := s.handle(e)
	s.stopped = s.stopped || err != nil
	return err
}

// fail adds the place to an error of ours.
func (s *stream) fail(err error) error {
	if err == nil || s.stopped {
		return err
	}
	return fmt.Errorf("binlog event that ends at %s: %w", s.at, err)
}
