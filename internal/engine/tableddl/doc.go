// Package tableddl runs the statements that move, create and drop complete tables: RENAME, DROP,
// TRUNCATE and CREATE TABLE.
//
// Look reads what a plan of them needs. Run makes the server execute the one statement that takes
// an exclusive lock, under the bounded lock.
//
// The package decides nothing (the plan does), and it drops nothing that held rows: the coordinator
// drops what a DROP or a TRUNCATE has put aside.
//
// If an answer is lost, the run looks at the tables, and never repeats the statement. InnoDB's
// number identifies a table: a rename keeps the number, and a new table has another one.
package tableddl
