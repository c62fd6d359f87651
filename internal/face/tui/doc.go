// Package tui is the display of a run on a terminal, by Bubble Tea: the same for the process
// that is at work and for one that watches it from elsewhere.
package tui
