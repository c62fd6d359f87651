// Package migration is the coordinator: it carries a plan to its end.
//
//	check -> shadow -> start -> copy -> index -> catchup <-> cutover -> cleanup -> done
//
// A rehearsal ends with lock in the place of cutover, or with catchup.
//
// A run has three values. Its work is what the stages work with: newWork makes it, complete, for
// a run that begins and for one that resumes an earlier run. Its account is what is reported:
// Progress and Result are readings of it. Its debts are what it must undo: conclude and cleanUp
// ask them. Until the work is complete run.prepared is nil, and nothing else is.
//
// Run tells the story on one page. The work of each stage is done in the package of
// its name; this package only puts the stages in their order, hands each the part of
// the plan that it needs, and cleans up after them.
//
// Every goroutine that is started is waited for before Run returns, and on every way
// out but two the server holds nothing more of the run: cutover.ErrUnknown leaves all
// as it is for a human to look at, and a cleanup that fails says what is left.
package migration
