// Package ddl reads statements that change tables. It is the only importer of the SQL parser.
//
// Parse reads the operator's ALTER TABLE twice. A scan of its tokens finds the table's name, the
// exact text of the clauses, and the effect of each clause by its first words. The parser then
// reads the same text and must find the same columns. A statement that only the scan can read is
// not refused, because the server may well understand it: it is marked (Parsed is false). It is
// Doubtful if the scan does not know each clause, or the parser finds other columns. Then the
// operator must declare the columns that continue others.
//
// ParseStatementIn and ParseClausesIn read a text as a server of a dialect does, and return the
// result in the usual dialect.
//
// ParseStatement also reads the other supported statements. CREATE INDEX, DROP INDEX and OPTIMIZE
// TABLE become the ALTER TABLE that does the same. RENAME, DROP, TRUNCATE and CREATE TABLE are
// Statements of their own kinds.
//
// Refers returns the effect of a statement in the binlog on one table.
//
// The package does not judge: the plan decides whether a clause can be carried out on a shadow. The
// package knows no server and no table's columns.
package ddl
