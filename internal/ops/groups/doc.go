// Package groups shows the runs of a group, whose tables are swapped in one step, as one run: it asks all of their sockets, adds up their
// states, and keeps their histories as one text.
//
// A change that is alone is a group of one, for which nothing is added up.
package groups
