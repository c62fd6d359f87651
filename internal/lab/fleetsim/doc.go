// Package fleetsim runs the core of change sets (fleet/rollout) against a model of a fleet, one step at a
// time, and holds its laws against what members really do. It is for tests only.
//
// The core is the real one. Modelled are the driver (facts, Next, store, act), which dies between any two of
// these, and starts again with the stored state; members, which obey orders, work, fail, lose their result and
// swap; messages both ways, which are late, lost, doubled and in another order; persons, who ask for sensible
// and other things at any time; freezes, drift, servers that leave the inventory, and jumps of the driver's
// clock. All comes from a seed: there is no parallelism, no clock and no order of a map.
//
// After a number of steps the faults stop. Then the set must end.
//
// More than CI's steps:
//
//	make fleet-sim
package fleetsim
