// Package session carries one change through all its attempts: while its server comes and goes, while
// an operator stops it and lets it resume, and until its result is known.
//
// Begin opens what belongs to the change and not to one attempt: the control socket, the history, the
// log, the metrics and the hooks. Carry repeats the attempt that its caller gives it, and reconnects
// between two. End reports the result to all of them. Whoever shows the change is a Presenter; package
// session prints nothing.
//
//	attempt ─ lost ─► wait, reconnect ─► attempt        for Work.Reconnect, then the work is kept
//	        ─ stopped ─► stand by ─► reconnect ─► attempt
//	        ─ done, failed ─► End
//
// Reach does so with several tables, one after the other, until each has the definition that files want.
//
// Events reach a display through a Relay: an output that is slow, or that nobody reads, never holds
// up the engine.
package session
