// Package throttle holds the engine back if the application needs the server, or replicas can't
// follow.
//
// A Governor decides how much of the workers' time is work, by the cost of the work for the
// application's statements. Transit bounds the rows that are on their way to replicas. Gates block
// all work while a condition that an operator has named is true: a replica behind, a status
// variable above its bound, a file.
package throttle
