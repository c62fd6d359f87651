// Package throttle holds the engine back where the application needs the server, or replicas can't follow.
//
// A Governor steers how much of the workers' time is work, by what the work costs the application's statements.
// Transit bounds the rows that are on their way to replicas. Gates stand in the way of all work while
// something is so that an operator has named: a replica behind, a status variable above its bound, a file.
package throttle
