// Package soak drops columns and indexes in two acts: the first one hides them, and the second one drops them if no statement of the
// application has named them in between.
//
//	drop.go    what is dropped, the statements of both acts, and what is refused
//	judge.go   whether a statement names what is dropped, by its text alone
//	read.go    the statements that the server has seen, from performance_schema
//	watch.go   the checks between the two acts, and what they keep on the server
//
// The first act is a change by the server with an undo: its undo record says that it soaks, and the undo table keeps what was seen.
package soak
