// Package rollout is the core of a change set: one change for many servers, in waves. It decides, and does nothing.
//
// Next is a pure function of the set, the state and the facts. It has no clock, no I/O and no chance: the time
// is a fact. A driver calls it in a loop:
//
//	load the state; collect facts; Next; store the state; act; from time to time, act on Pending
//
// # The order is the proof
//
// An order counts from the moment that it is stored, before it is sent: a member whose start was ordered counts
// for the limits until a report shows that its run is ready or over. So whatever is lost, late or twice, members
// never do more than the state has.
//
// Orders of a member are numbered. A member remembers the newest number that it has had, and ignores the rest: a
// start that is late does nothing once the withdraw that followed it has come. A report has a version, and the
// number of the newest order that the member knew. So Next knows which orders to send again (Pending).
//
// Requests of persons are numbered by the store, and each is handled once.
//
// # What holds a member
//
// Each member holds before its swap, whatever the policy. A release has the end of the window with it, because
// the clock of the member decides in the end. A freeze holds starts, swaps and undos; a window holds no undo.
//
// The stop rule counts members that have failed and have not been ready since. While it holds, no new member
// starts, none is released, and starts on their way are withdrawn. A wave in which all members have failed stops
// the set too, whatever the number.
//
// A run that does not know its result is asked to look at the tables, and never begun again before it knows. So a
// set that has ended knows exactly which members have the change (Result), but for members that a person skipped
// while that was not known.
package rollout
