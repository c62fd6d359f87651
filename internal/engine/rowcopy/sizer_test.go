package rowcopy

import (
	"testing"
	"time"
)

// TestChunksOfWideRows: if rows are wide, the smallest and the first size of a chunk are bounded in
// bytes, because each commit on the server waits for the binlog of a chunk.
func TestChunksOfWideRows(t *testing.T) {
	for _, c := range []struct {
		rowBytes           int64
		least, first, most int
	}{
		{0, 100, 1000, 100_000},
		{200, 100, 1000, 100_000},
		{26_000, 10, 100, 1290},
		{1 << 20, 1, 10, 100},
		{1 << 26, 1, 1, 100},
	} {
		s := newSizer(Config{}.WithDefaults(), c.rowBytes)
		if got := s.Rows(time.Nanosecond); got != c.first {
			t.Errorf("rows of %d bytes: %d rows at first, want %d", c.rowBytes, got, c.first)
		}
		s.Took(int64(c.first), time.Second)
		if got := s.Rows(time.Nanosecond); got != c.least {
			t.Errorf("rows of %d bytes: %d rows at the least, want %d", c.rowBytes, got, c.least)
		}
		if got := s.Rows(1000 * time.Hour); got != c.most {
			t.Errorf("rows of %d bytes: %d rows at the most, want %d", c.rowBytes, got, c.most)
		}
	}
}
