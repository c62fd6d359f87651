// Package humanize writes for people what records hold for programs: numbers, sizes, times, and a
// line for each event of a run.
// The command line, the terminal's
// screen and the report have one spelling of each.
package humanize
