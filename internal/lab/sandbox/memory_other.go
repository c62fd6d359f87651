//go:build !linux

package sandbox

func memoryRun() string { return "" }
