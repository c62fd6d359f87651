// Package lock is the bounded lock: the one way in which Midstream asks for a metadata
// lock that others may hold.
//
// Whoever asks for an exclusive metadata lock queues everyone who comes later behind
// itself, for as long as it waits. So (design.md, decision 5): look for blockers first,
// and do not even ask while there are any; ask; if the lock is not granted within the
// budget, withdraw the request by KILL QUERY, back off, and try again. No query then
// waits for us longer than the budget.
package lock
