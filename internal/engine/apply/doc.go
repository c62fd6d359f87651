// Package apply syncs the keys of the backlog.
//
// Each worker takes batches of its own share of the keys and syncs them in key order. So it walks
// through the shadow in one direction.
package apply
