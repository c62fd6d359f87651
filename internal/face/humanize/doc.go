// Package humanize writes for people what records hold for programs: numbers, sizes, times, and a
// line for each event of a run.
// The command line, the terminal display, the pages and the report all use it.
package humanize
