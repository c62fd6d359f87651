package rowsync

import (
	"testing"
	"time"
)

// TestRangesTakeTheirTime: a range has as many rows as its work may take, by what earlier ranges took,
// between the least and the most. Without a bound on the time it has the most.
func TestRangesTakeTheirTime(t *testing.T) {
	const most = 10_000
	chunk := 10 * time.Millisecond
	r := NewRanges(nil, most, func() time.Duration { return chunk })
	work := func(perRow time.Duration) (rows int) {
		for range 20 {
			rows = r.rows()
			r.Took(int64(rows), time.Duration(rows)*perRow)
		}
		return rows
	}
	for _, c := range []struct {
		perRow, chunk time.Duration
		want          int
	}{
		{2 * time.Microsecond, 10 * time.Millisecond, 5000},
		{20 * time.Microsecond, 10 * time.Millisecond, 500},
		{time.Millisecond, 10 * time.Millisecond, leastRange},
		{2 * time.Microsecond, time.Second, most},
	} {
		chunk = c.chunk
		if got := work(c.perRow); got < c.want*9/10 || got > c.want*11/10 {
			t.Errorf("rows of %s and ranges of %s: %d rows, want %d", c.perRow, c.chunk, got, c.want)
		}
	}
	if got := NewRanges(nil, most, nil).rows(); got != most {
		t.Errorf("without a bound it has %d rows", got)
	}
	if got := NewRanges(nil, 5, func() time.Duration { return time.Hour }).rows(); got != 5 {
		t.Errorf("of at most 5 rows it has %d", got)
	}
}
