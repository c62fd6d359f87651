// Package cli is what a user types and reads: one file a verb, the flags, the progress, the
// reports and the exit codes.
// It is the only package that prints. Package flags reads the flags, and package help lays out the help.
//
//	main -> Main -> a verb -> migrate (connect, session.Carry: plan, print, migration.Run, report)
//	                              │
//	                              └ events ─► relay ─► lines | bars | JSON
//
// What is wrong with a command line is said all at once, before anything is connected
// to. What is printed for people goes to standard output and problems to standard error;
// with --json every line of standard output is one JSON object (docs/events.md), and the
// last one the result. Exit codes are a contract (docs/exit-codes.md).
//
// The engine's events reach a display through a relay: an output that is slow, or that
// nobody reads, never holds up a migration.
//
// A password is taken out of the arguments before anything else sees them, and out of
// the process's own argument memory.
package cli
