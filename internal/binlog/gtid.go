package binlog

import (
	"fmt"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/google/uuid"
)

// GTID names a transaction, on every server that it comes to.
type GTID struct {
	Source uuid.UUID // of the server that committed it first, or of its group
	Tag    string    // "" for none
	Number int64     // from 1
}

// GTIDs is a set of GTIDs. The zero value is empty.
type GTIDs struct{ set mysql.MysqlGTIDSet }

// ParseGTIDs reads a set as the server spells it.
func ParseGTIDs(text string) (GTIDs, error) {
	parsed, err := mysql.ParseMysqlGTIDSet(text)
	if err != nil {
		return GTIDs{}, fmt.Errorf("%q is not a set of GTIDs: %w", text, err)
	}
	return GTIDs{set: *parsed.(*mysql.MysqlGTIDSet)}, nil
}

// String is the set as the server reads it; "" if it is empty.
func (s *GTIDs) String() string { return s.set.String() }

// Clone returns a copy.
func (s *GTIDs) Clone() GTIDs { return GTIDs{set: *s.set.Clone().(*mysql.MysqlGTIDSet)} }

// Add adds a GTID and those that follow it, count in all.
func (s *GTIDs) Add(first GTID, count int64) {
	if s.set == nil {
		s.set = mysql.NewMysqlGTIDSet()
	}
	tags := s.set[first.Source]
	if tags == nil {
		tags = map[mysql.Tag]mysql.IntervalSlice{}
		s.set[first.Source] = tags
	}
	tag := mysql.NewTag(first.Tag)
	tags[tag] = append(tags[tag], mysql.Interval{Start: first.Number, Stop: first.Number + count}).Normalize()
}

// Has says whether the GTID is in the set.
func (s *GTIDs) Has(g GTID) bool {
	return s.set[g.Source][mysql.NewTag(g.Tag)].Contain(mysql.IntervalSlice{{Start: g.Number, Stop: g.Number + 1}})
}

// readGTID reads the event at a group's head; named is false if the group has no GTID that
// other servers know it by.
func readGTID(kind byte, body []byte) (g GTID, named bool, err error) {
	switch kind {
	case eventGTID:
		c := cursor{data: body}
		c.bytes(1) // flags
		source := c.bytes(uint64(len(g.Source)))
		g.Number = int64(c.uint(8))
		if c.short {
			return g, false, fmt.Errorf("%w: GTID", errGarbled)
		}
		copy(g.Source[:], source)
		return g, true, nil
	case eventTaggedGTID:
		var e replication.GtidTaggedLogEvent
		if err := e.Decode(body); err != nil || len(e.SID) != len(g.Source) {
			return g, false, fmt.Errorf("%w: tagged GTID: %w", errGarbled, err)
		}
		copy(g.Source[:], e.SID)
		g.Tag, g.Number = e.Tag.String(), e.GNO
		return g, true, nil
	}
	return g, false, nil
}
