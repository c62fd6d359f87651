// Package leftovers finds, finishes and removes what runs have left on a source: their tables,
// their triggers, second foreign keys, and the former source of a swap.
//
// A Cleaner lists what there is on one source, and judges to whom each table belongs: by its mark,
// or by what the state table says of it. A table of which neither is known is never dropped.
// Cleanup removes leftovers for an operator, Finish brings a run to its end that was stopped after
// its swap, and package migration uses the same rules for the leftovers of its own run.
//
// Each of them works under a Claim, the advisory lock of the source: no run is at work there.
package leftovers
