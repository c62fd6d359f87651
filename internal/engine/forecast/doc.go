// Package forecast estimates when a run ends, with a range.
//
// Look is the work that is left, and the work that is done. Forecaster measures its rate over the
// last hour, and how much that rate varies. Calendar knows when work is allowed, and by the load
// of each hour how fast it will be. All of it is pure: time comes from the looks.
package forecast
