// Package tableddl runs the statements that move, create and drop complete tables: RENAME, DROP,
// TRUNCATE and CREATE TABLE.
// Look reads what a plan of them needs, and Run has the server make the
// one statement that takes an exclusive lock, under the bounded lock.
//
// It does not decide (that is the plan's), and it drops nothing that held rows: what a DROP or a
// TRUNCATE has put aside is for the coordinator.
//
// An answer that is lost is found out by looking, never by saying the statement again: a table is
// known by InnoDB's number of it, which a rename leaves alone, and a new table has another.
package tableddl
