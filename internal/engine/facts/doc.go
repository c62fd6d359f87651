// Package facts asks a server what a plan must know: its variables, the account and its grants,
// replication, names that are taken, and InnoDB's numbers.
//
// Gather reads them all for one table and returns a *plan.Facts. It only reads. What the account
// may not see is a fact, too: the plan then reports the missing privilege. Package plan has the
// types and decides by them; it asks no server itself.
package facts
