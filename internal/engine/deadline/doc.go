// Package deadline chooses the limit by which a run may slow the application, so that the run ends
// in time and no harsher than that needs.
//
// A limit is a factor on --max-slowdown. Course decides about it: it is pure, and knows the rates
// that the run has had at which limits, the work that is left, and the deadline. Keeper asks it now
// and then, applies its answer, and reports.
package deadline
