// Package together makes one swap of the changes of several tables.
//
// A group has one run for each table, in one process. The runs share nothing until the swap but its time (operator.Partners): each has its
// own capture, backlog, state table and settings. They meet at stages:
//
//	planned     every plan was made, and nothing is written yet
//	prepared    every run has its shadow and its start position, and the prescans have found no row that does not fit
//	filled      every shadow is copied and compared; the runs copy one after the other
//	rehearsed   (a rehearsal, in the place of the swap) every shadow is up to date, and the lock of all tables was rehearsed
//	swap        one bounded lock of all tables, all last changes, one RENAME with all pairs
//
// The server makes a RENAME of several tables as one step (MySQL 8.0: data dictionary), and all tables are locked before it. So no
// session sees one table with its old definition and another with its new one. A run that is killed before the RENAME has swapped no
// table; one that is killed behind it has swapped all of them.
//
// A run that is alone is a group of one.
package together
