// Package lock is the bounded lock: the only way that Midstream asks for a metadata lock that
// others may hold.
//
// A session that asks for an exclusive metadata lock makes all later sessions queue behind it, for
// as long as it waits. So the run first looks for blockers, and does not ask while there are any
// (design.md, decision 5). Then it asks. If the lock is not granted within the budget, the run
// withdraws the request by KILL QUERY, backs off, and tries again. So no query waits for the run
// longer than the budget.
package lock
