package capture

import "midstream/internal/mysql/binlog"

// Point is where reading begins, or may begin again.
type Point struct {
	Position binlog.Position
	// GTIDs are the transactions that stand before it; empty where some have none.
	GTIDs binlog.GTIDs
}

// place is the end of a group, or the start.
type place struct {
	binlog.Position
	groups uint64 // that stand between the start and it
}

func (p place) before(other place) bool { return p.Compare(other.Position) < 0 }

// history remembers which transactions stand before which place. Transactions of one source
// that follow each other, as nearly all do, take up one span.
type history struct {
	before binlog.GTIDs // before the oldest span
	spans  []span       // the oldest first
	groups uint64       // since the start
	broken bool         // a transaction has no GTID, or those before the start are not known, or there are too many spans
}

// span is transactions of one source that follow each other in number and in the binlog.
type span struct {
	first binlog.GTID
	count int64
	start uint64 // how many groups stand before the first
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

// upTo returns the transactions that stand before a place so many groups from the start. A
// later call must not go back.
func (h *history) upTo(groups uint64) binlog.GTIDs {
	if h.broken {
		return binlog.GTIDs{}
	}
	h.forget(groups)
	return h.before.Clone()
}

// forget has the set hold the transactions that stand before a place.
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
