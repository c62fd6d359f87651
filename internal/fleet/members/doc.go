// Package members lets a queue of changes be the fleet of a change set (driver.Fleet): each member is a change of the queue of
// midstream serve, with the id SET@SERVER, that holds before its swap.
//
// The queue keeps the number of each member's newest order with the change, and ignores orders that are not above it. So this package
// keeps nothing, and an order may be sent twice, late, or after a newer one.
package members
