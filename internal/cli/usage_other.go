//go:build !unix

package cli

import "time"

// usageOfProcess is what this process has used.
type usageOfProcess struct {
	peakRSS int64
	cpu     time.Duration
}

// processUsage knows nothing on this system.
func processUsage() usageOfProcess { return usageOfProcess{} }
