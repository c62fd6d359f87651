//go:build !unix

package record

// ProcessUsage knows nothing on this system.
func ProcessUsage() Usage { return Usage{} }
