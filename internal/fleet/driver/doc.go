// Package driver drives a change set: it loads the state, collects facts, lets fleet/rollout decide, stores the
// state, and then sends the orders. It may be killed between any two of these; the next driver continues.
package driver
