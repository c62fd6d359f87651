//go:build !unix

package cli

import "midstream/internal/face/summary"

// processUsage knows nothing on this system.
func processUsage() summary.Used { return summary.Used{} }
