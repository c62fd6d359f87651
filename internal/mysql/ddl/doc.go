// Package ddl reads statements that change tables. It is the only importer of the
// SQL parser.
//
// Parse takes the operator's ALTER TABLE apart twice: a scan of its tokens finds the
// table's name, the exact text of the clauses and what each clause does by its first
// words; the parser then reads the same text and must come to the same columns. A
// statement that only the scan can read is not refused, for the server may well
// understand it: it is marked (Parsed is false). It is Doubtful if the scan does not know
// each clause, or the parser comes to other columns: which column continues which must
// then be told by the operator.
//
// ParseStatementIn and ParseClausesIn read a text as a server of a dialect does, and
// return what was read in the usual dialect.
//
// ParseStatement reads the other statements that are taken too. CREATE INDEX, DROP INDEX and
// OPTIMIZE TABLE become the ALTER TABLE that does the same; RENAME, DROP, TRUNCATE and CREATE TABLE
// are Statements of their own kinds.
//
// Refers tells what a statement found in the binlog does to one table.
//
// The package does not judge: whether a clause can be carried out on a shadow is for
// the plan to say. It knows no server and no table's columns.
package ddl
