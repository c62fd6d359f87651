// Package tui is the display of a run on a terminal, with Bubble Tea, for the process of the run
// and for a process that watches it.
package tui
