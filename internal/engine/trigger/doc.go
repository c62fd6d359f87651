// Package trigger captures changes with triggers, if the binlog cannot be read or has no rows.
//
// Three triggers on the source (AFTER INSERT, UPDATE, DELETE) write the key of each touched row
// into the log. The log is a table that has nothing else. An UPDATE that changes the key writes
// both keys. The application pays for that one insert, and waits for no other session because of
// it.
//
// A row of the log that can be read is committed, and so is its change. A key is visible as soon as
// it was read (law L3), without a heartbeat. But AUTO_INCREMENT numbers are not in the order of
// commits: a transaction with a lower number may commit later. So no row is passed over because of
// its number:
//
//	numbers    1 2 3 . 5 6 . 8 9 | 10 11 ...
//	           read ^      ^       tail: read at each pass
//	                rest: everything else that was not read, whatever its number
//
// A row is deleted when its key is synced, or left to the row copy, and not before (law L5). The
// rows in the log are the work that another run has yet to do, so a checkpoint needs no position. A
// row is deleted by its complete primary key, or with rows that follow it without a gap, at READ
// COMMITTED. That locks only rows that no other session touches, and no gap (see deletions).
//
// A session may write rows that replicas don't get as rows: with sql_log_bin=0, or in STATEMENT
// format, because then replicas fire the triggers themselves. The deletion of such a row would end
// their replication. So each row records how its session logs (logged) and on which server its
// trigger fired (origin). The origin is a part of the key, because a replica may give the same
// number to another row. Rows that replicas lack are kept.
//
// Under the lock of the cut-over no session writes, and the run reads the log to its end through
// the session that has the lock. LOCK TABLES also locks the tables that triggers write to, and
// keeps all other sessions away. Rows that are still uncommitted then belong to prepared XA
// transactions; the swap waits for them.
//
// Triggers do not see TRUNCATE, other DDL, and the actions of foreign keys. The plan must refuse
// the last. Look detects the others, by InnoDB's numbers of the table and of the log, and by the
// triggers.
package trigger
