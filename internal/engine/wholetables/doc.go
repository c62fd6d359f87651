// Package wholetables carries out statements on complete tables: RENAME, DROP, TRUNCATE and CREATE
// TABLE.
//
// A Change claims all tables of the statement, waits for the operator's permission, and lets tableddl
// run the one statement that needs the lock. Then it drops what a DROP or a TRUNCATE has put aside,
// unless the plan keeps it.
//
// The package is to these statements what migration is to an ALTER. It uses that package's words for
// how a run ended: Result and Failure.
package wholetables
