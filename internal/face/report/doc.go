// Package report makes of the history of a run what people keep: what was asked, what was planned
// and predicted beside what happened, the plots of the whole run, every wait, attempt, blocker,
// retry and mismatch with its time, and what is left and how to remove it. The page holds all that
// it needs, and reads nothing from anywhere.
package report
