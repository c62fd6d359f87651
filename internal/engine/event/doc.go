// Package event holds the events that a migration emits while it runs.
//
// The engine emits values of these types to one Listener; the log, the progress display, metrics
// and tests are listeners. Facts only go out this way: nothing comes back through a listener, and a
// stage never logs. A Listener is called from many goroutines at once and must return quickly.
package event
