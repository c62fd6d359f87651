// Package demo shows, on a server of its own, that a live table changes its schema while
// an application writes to it and that nothing is lost.
//
//	create and seed shop.orders ─► writers on ─► the change, by whatever Deps.Change does
//	                                                │
//	        Proof ◄─ compare row by row ◄─ writers off
//
// The writers are package ledger's: they remember what every committed transaction left
// behind, and in the end the table must equal that, row by row. What the writers felt of
// the change is measured where they stand: how long each of their statements took.
//
// The package runs no schema change itself and prints nothing: the change is handed in,
// so that it is the same that a user runs, in a process of its own whose memory is the
// client's and not the ledger's.
package demo
