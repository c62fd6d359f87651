package rowsync

import "time"

// Sizer finds the number of rows for work of a given time, from the pace of earlier work. One piece of
// work changes the pace by a factor of 2 at most, because a single slow commit must not disturb it. And
// it changes the pace by half of the difference, because the pace must not oscillate.
type Sizer struct {
	Least, Most int // rows
	// First is the number of rows while the pace is not known. It is small, because nothing is known
	// about the rows yet.
	First int

	pace float64 // rows a second; 0: not known
}

// Rows returns the number of rows of work that should take this long.
func (s *Sizer) Rows(target time.Duration) int {
	if s.pace == 0 {
		return min(s.Most, s.First)
	}
	return int(min(float64(s.Most), max(float64(s.Least), s.pace*target.Seconds())))
}

// Took records that the work of that many rows took that long.
func (s *Sizer) Took(rows int64, elapsed time.Duration) {
	if elapsed <= 0 || rows == 0 || rows < int64(s.Least)/2 {
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
