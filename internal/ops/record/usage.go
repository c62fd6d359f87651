package record

import "time"

// Usage is what the process of a run took.
type Usage struct {
	PeakRSS int64         // bytes; 0 if it is not known
	CPU     time.Duration // of user and system
}
