// Command judge runs midstream under other projects' own tests: gh-ost's localtests, and the suite
// of Vitess's Online DDL. Neither is copied here: both come with the projects' Go modules, which go
// fetches and checks, and nothing here names a case. A third suite is the programs that call a schema
// change tool (package callers).
//
//	bin/judge                         all suites, on MySQL 8.0, about half an hour
//	bin/judge --suites vitess --server 9.7 --only '^enum'
//
// gh-ost's localtests are run by their own script, which gets our program under gh-ost's name, a
// primary and a replica. Vitess's cases need Vitess to run. So the judge does with one server what
// Vitess's runner does with a case. It creates the case's table and an event that writes to it,
// runs the ALTER, and stops the writing just before the swap. Then it compares the old table
// with the new one by the case's columns.
//
// A case has one of these outcomes:
//
//	as expected   it succeeds with the rows and the definition that the suite asks for, or fails where it must
//	done          the suite asks for a failure, and midstream can do it; for Vitess's cases, with the rows compared
//	limit         the suite asks for success, and midstream refused before it changed anything, for a reason
//	              that the documentation has, or because the server itself refuses the ALTER
//	refused       the same without such a reason
//	wrong         everything else: rows or definition differ, or the run failed on its way
//	not for this  the suite skips the case on this server
//
// The exit code is 1 if a case was wrong or refused.
package main
