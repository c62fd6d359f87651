package binlog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/google/uuid"
)

// GTID names a transaction, on every server that it comes to.
type GTID struct {
	// Source is the server that committed it first, or that server's group; zero on MariaDB.
	Source uuid.UUID
	Tag    string // "" for none
	Origin Origin // on MariaDB
	Number int64  // from 1
}

// Origin is the domain and server that a transaction of MariaDB's comes from. Numbers grow in a
// domain, for any of its writers, and so they do for each server (https://mariadb.com/kb/en/gtid/).
type Origin struct{ Domain, Server uint32 }

// GTIDs is a set of GTIDs. The zero value is empty.
type GTIDs struct {
	set mysql.MysqlGTIDSet
	// last is MariaDB's: the set has all GTIDs up to that number.
	last map[Origin]int64
}

// ParseGTIDs reads a set as the server spells it: MySQL's like gtid_executed, MariaDB's like
// gtid_binlog_state. The latter has the last number of each origin.
func ParseGTIDs(text string) (GTIDs, error) {
	if text != "" && !strings.Contains(text, ":") {
		return parseLast(text)
	}
	parsed, err := mysql.ParseMysqlGTIDSet(text)
	if err != nil {
		return GTIDs{}, fmt.Errorf("%q is not a set of GTIDs: %w", text, err)
	}
	return GTIDs{set: *parsed.(*mysql.MysqlGTIDSet)}, nil
}

// parseLast reads 0-1-100,0-2-90: domain, server, number.
func parseLast(text string) (GTIDs, error) {
	s := GTIDs{last: map[Origin]int64{}}
	for _, one := range strings.Split(text, ",") {
		var parts [3]uint64
		fields := strings.Split(strings.TrimSpace(one), "-")
		for i, size := range []int{32, 32, 63} {
			var err error
			if len(fields) != len(parts) {
				err = strconv.ErrSyntax
			} else {
				parts[i], err = strconv.ParseUint(fields[i], 10, size)
			}
			if err != nil {
				return GTIDs{}, fmt.Errorf("%q is not a set of GTIDs: %w", text, err)
			}
		}
		o := Origin{Domain: uint32(parts[0]), Server: uint32(parts[1])}
		s.last[o] = max(s.last[o], int64(parts[2]))
	}
	return s, nil
}

// String is the set as the server reads it; "" if it is empty.
func (s *GTIDs) String() string {
	if len(s.last) == 0 {
		return s.set.String()
	}
	var list []string
	for _, o := range slices.SortedFunc(maps.Keys(s.last), func(a, b Origin) int {
		return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Server, b.Server))
	}) {
		list = append(list, fmt.Sprintf("%d-%d-%d", o.Domain, o.Server, s.last[o]))
	}
	return strings.Join(list, ",")
}

// Clone returns a copy.
func (s *GTIDs) Clone() GTIDs {
	return GTIDs{set: *s.set.Clone().(*mysql.MysqlGTIDSet), last: maps.Clone(s.last)}
}

// Add adds a GTID and its successors, count in all. On MariaDB all earlier GTIDs of its origin are
// in the set as well.
func (s *GTIDs) Add(first GTID, count int64) {
	if first.Source == uuid.Nil {
		if s.last == nil {
			s.last = map[Origin]int64{}
		}
		s.last[first.Origin] = max(s.last[first.Origin], first.Number+count-1)
		return
	}
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

// Has reports whether the GTID is in the set.
func (s *GTIDs) Has(g GTID) bool {
	if g.Source == uuid.Nil {
		last, is := s.last[g.Origin]
		return is && g.Number <= last
	}
	return s.set[g.Source][mysql.NewTag(g.Tag)].Contain(mysql.IntervalSlice{{Start: g.Number, Stop: g.Number + 1}})
}

// In reports whether each GTID of the set is in another one.
func (s *GTIDs) In(other *GTIDs) bool {
	for o, number := range s.last {
		if number > other.last[o] {
			return false
		}
	}
	return other.set.Contain(&s.set)
}

// readGTID reads the event at a group's head. The server with that number has written it first.
// named is false if the group has no GTID that other servers know it by.
func readGTID(kind byte, server uint32, body []byte) (g GTID, named bool, err error) {
	switch kind {
	case eventMariaGTID:
		c := cursor{data: body}
		g.Number = int64(c.uint(8))
		g.Origin = Origin{Domain: uint32(c.uint(4)), Server: server}
		if c.short {
			return g, false, fmt.Errorf("%w: GTID", errGarbled)
		}
		return g, true, nil
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
