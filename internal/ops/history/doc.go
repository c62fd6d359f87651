// Package history keeps the records of runs: one file for each run, one line for each record of
// docs/events.md.
// The files of a user are in one folder. They may be
// removed, copied and read by anybody at any time; a file that ends within a line, or without a
// result, is of a run that is at work, or was killed.
//
// Records of progress come twice a second; a file keeps one a second at first and fewer the longer
// the run lasts (a six-hundredth of the time since its beginning between two), so that a run of a
// week takes a few megabytes. So it is with the other things that are told again and again while
// something lasts, from the thousandth of a kind on: retries, who is in the way, and for what the
// work waits. Of each the newest is kept before whatever is told next.
package history
