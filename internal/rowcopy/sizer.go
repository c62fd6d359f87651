package rowcopy

import "time"

// sizer steers the number of rows of a chunk by the time that chunks take. One chunk
// changes it by a factor of 2 at the most, so that a single slow commit does not
// throw it about, and half of the way, so that it does not swing.
type sizer struct {
	target      time.Duration
	least, most int
	rows        int
}

// firstRows is small: nothing is known of the rows yet.
const firstRows = 1000

func newSizer(target time.Duration, least, most int) sizer {
	return sizer{target: target, least: least, most: most, rows: min(most, max(least, firstRows))}
}

// took says that a chunk of that many rows took that long.
func (s *sizer) took(rows int64, elapsed time.Duration) {
	if elapsed <= 0 || rows < int64(s.least)/2 {
		return // says nothing of the cost of a row
	}
	ideal := float64(rows) * float64(s.target) / float64(elapsed)
	factor := ideal / float64(s.rows)
	factor = min(2, max(0.5, factor))
	if factor < 1.5 {
		factor = (1 + factor) / 2
	}
	s.rows = min(s.most, max(s.least, int(float64(s.rows)*factor)))
}
