package rowcopy

import "time"

// sizer finds the number of rows for a chunk of a given time, from the pace of earlier chunks. One
// chunk changes the pace by a factor of 2 at most, because a single slow commit must not disturb
// it. And it changes the pace by half of the difference, because the pace must not oscillate.
type sizer struct {
	least, most int
	first       int
	pace        float64 // rows a second; 0: not known
}

// newSizer is one for rows of that length on average, 0 if not known.
func newSizer(cfg Config, rowBytes int64) sizer {
	s := sizer{least: cfg.MinRows, most: cfg.MaxRows, first: firstChunk * cfg.MinRows}
	if rowBytes > 0 {
		fit := max(1, cfg.MaxBytes/rowBytes)
		s.least = int(max(1, min(int64(s.least), cfg.MinBytes/rowBytes)))
		s.most = int(max(int64(cfg.MinRows), min(int64(s.most), fit))) // may be of rows that are gone
		s.first = int(min(int64(firstChunk*s.least), fit))
	}
	return s
}

// firstChunk is the size of the first chunk, next to the minimum. It is small, because nothing is
// known about the rows yet.
const firstChunk = 10

// rows returns the number of rows of a chunk that should take this long.
func (s *sizer) rows(target time.Duration) int {
	if s.pace == 0 {
		return min(s.most, s.first)
	}
	return min(s.most, max(s.least, int(s.pace*target.Seconds())))
}

// took records that a chunk of that many rows took that long.
func (s *sizer) took(rows int64, elapsed time.Duration) {
	if elapsed <= 0 || rows == 0 || rows < int64(s.least)/2 {
		return // does not show a row's cost
	}
	now := float64(rows) / elapsed.Seconds()
	if s.pace == 0 {
		s.pace = now
		return
	}
	factor := min(2, max(0.5, now/s.pace))
	if factor < 1.5 {
		factor = (1 + factor) / 2
	}
	s.pace *= factor
}
