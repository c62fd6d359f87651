package binlog

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Position is a place between two events of a server's binlog. The zero Position
// is no place.
type Position struct {
	File string
	// Offset is in bytes. It exceeds 4 GiB if a transaction made the file that long.
	Offset uint64
}

// IsZero reports whether p is no place.
func (p Position) IsZero() bool { return p == Position{} }

// String returns file:offset. ParsePosition reads that.
func (p Position) String() string {
	if p.IsZero() {
		return ""
	}
	return p.File + ":" + strconv.FormatUint(p.Offset, 10)
}

// ParsePosition reads what String wrote; the empty string is the zero Position.
func ParsePosition(s string) (Position, error) {
	if s == "" {
		return Position{}, nil
	}
	i := strings.LastIndexByte(s, ':')
	if i <= 0 {
		return Position{}, fmt.Errorf("%q is not a binlog position: file:offset expected", s)
	}
	offset, err := strconv.ParseUint(s[i+1:], 10, 64)
	if err != nil {
		return Position{}, fmt.Errorf("%q is not a binlog position: %w", s, err)
	}
	return Position{File: s[:i], Offset: offset}, nil
}

// Compare orders two positions of one server: negative if p comes before other. It orders files by
// the number after their last dot. That number grows in digits after 999999, so the names don't
// sort.
func (p Position) Compare(other Position) int {
	if p.File != other.File {
		n, m := fileNumber(p.File), fileNumber(other.File)
		if n != m {
			return cmp.Compare(n, m)
		}
		return cmp.Compare(p.File, other.File)
	}
	return cmp.Compare(p.Offset, other.Offset)
}

// fileNumber returns the number of a binlog file, -1 if it has none.
func fileNumber(file string) int64 {
	n, err := strconv.ParseInt(file[strings.LastIndexByte(file, '.')+1:], 10, 64)
	if err != nil {
		return -1
	}
	return n
}
