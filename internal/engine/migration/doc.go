// Package migration is the coordinator: it carries out a plan from start to end.
//
//	check -> native -> cleanup -> done
//	check -> shadow -> prescan -> start -> copy -> index -> catchup -> verify
//	      -> catchup <-> hold <-> cutover -> cleanup -> done
//
// The first line is a run with the server's own statement. If that fails, a shadow may follow. A
// rehearsal ends with lock in the place of cutover, or with catchup.
//
// What a run knows is in three values: its work, its account and its debts. The stages use the work. newWork
// makes it complete, for a run that begins and for a run that resumes an earlier one. The account
// is what the run reports: Progress and Result are readings of it. The debts are what the run must
// undo: conclude and cleanUp read them. Until the work is complete, run.prepared is nil, and
// nothing else is nil.
//
// Run tells the story on one page. The package of each stage does its work. This package puts the
// stages in their order, hands each of them the part of the plan that it needs, and cleans up after
// them.
//
// Run waits for every goroutine that it started. On success only the old table is left on the
// server, unless the run dropped it. On an error Failure.Left lists what is left: nothing, the work
// that the same command resumes, or what could not be removed.
package migration
