package rowcopy

import "time"

// sizer finds the number of rows that a chunk of a certain time has, from the pace of those before. One chunk
// changes the pace by a factor of 2 at the most, so that a single slow commit does not throw
// it about, and half of the way, so that it does not swing.
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
		s.most = int(max(int64(cfg.MinRows), min(int64(s.most), fit))) // the average may be one of rows that are gone
		s.first = int(min(int64(firstChunk*s.least), fit))
	}
	return s
}

// firstChunk is the first chunk beside the least: small, for nothing is known of the rows yet.
const firstChunk = 10

// rows is the number of rows of a chunk that shall take so long.
func (s *sizer) rows(target time.Duration) int {
	if s.pace == 0 {
		return min(s.most, s.first)
	}
	return min(s.most, max(s.least, int(s.pace*target.Seconds())))
}

// took says that a chunk of that many rows took that long.
func (s *sizer) took(rows int64, elapsed time.Duration) {
	if elapsed <= 0 || rows == 0 || rows < int64(s.least)/2 {
		return // says nothing of the cost of a row
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
