// Package leftovers finds, finishes and removes what runs have left on a source: their tables,
// their triggers, second foreign keys, and the old table of a swap.
//
// A Cleaner lists the tables of one source, and judges who owns each table: by its mark, or by its
// record in the state table. It never drops a table that has neither. Cleanup removes leftovers for
// an operator. Finish completes a run that was stopped after its swap. Package migration uses the
// same rules for the leftovers of its own run.
//
// Each of them works under a Claim, the advisory lock of the source: no run is at work there.
package leftovers
