// Package sets has the change sets of midstream serve: it keeps them in the store of the queue, drives each until it has ended, and
// answers below /v1/sets.
//
// A set is one row of the store: its rules, its state, and what persons have asked for. A row is written with the journal's entry of who
// asked, or of what the set has become. A service that is killed continues all sets that have not ended.
package sets
