package capture

import "midstream/internal/mysql/binlog"

// Point is where reading begins, or may begin again.
type Point struct {
	Position binlog.Position
	// Born is when the file of Position was created, by its server's clock; 0 if that is not known.
	Born uint32
	// GTIDs are the transactions before the point; empty if some of them have no GTID.
	GTIDs binlog.GTIDs
}

// place is the end of a group, or the start.
type place struct {
	binlog.Position
	groups uint64 // between the start and the place
}

func (p place) before(other place) bool { return p.Compare(other.Position) < 0 }

// history remembers which transactions come before which place. Transactions of one source that
// follow each other, as nearly all do, take up one span.
type history struct {
	before binlog.GTIDs // before the oldest span
	spans  []span       // the oldest first
	groups uint64       // since the start
	// broken means that a transaction has no GTID, that the GTIDs before the start are not known,
	// or that there are too many spans.
	broken bool
}

// span is transactions of one source that follow each other in number and in the binlog.
type span struct {
	first binlog.GTID
	count int64
	start uint64 // before the first transaction
}

// mostSpans bounds the memory of a history, at about 7 MB.
const mostSpans = 100_000

// add adds the group that has ended; gtid is nil if it has none.
func (h *history) add(gtid *binlog.GTID) {
	h.groups++
	if gtid == nil || len(h.spans) > mostSpans {
		h.broken, h.spans = true, nil
	}
	if h.broken {
		return
	}
	if n := len(h.spans); n > 0 {
		last := &h.spans[n-1]
		next := last.first
		next.Number += last.count
		if next == *gtid {
			last.count++
			return
		}
	}
	h.spans = append(h.spans, span{first: *gtid, count: 1, start: h.groups - 1})
}

// upTo returns the transactions before a place, given as its number of groups from the start. A
// later call must not go back.
func (h *history) upTo(groups uint64) binlog.GTIDs {
	if h.broken {
		return binlog.GTIDs{}
	}
	h.forget(groups)
	return h.before.Clone()
}

// forget adds the transactions before a place to the set, and drops their spans.
func (h *history) forget(groups uint64) {
	for len(h.spans) > 0 && h.spans[0].start < groups {
		s := &h.spans[0]
		n := min(s.count, int64(groups-s.start))
		h.before.Add(s.first, n)
		if n < s.count {
			s.first.Number += n
			s.count -= n
			s.start += uint64(n)
			return
		}
		h.spans = h.spans[1:]
	}
}
