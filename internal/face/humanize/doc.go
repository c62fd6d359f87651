// Package humanize says for people what records say for programs: numbers, sizes and times in as many
// digits as anybody needs, and what happens in a run in a line. The command line, the terminal's
// screen and the report have one spelling of each.
package humanize
