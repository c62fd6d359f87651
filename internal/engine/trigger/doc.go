// Package trigger captures changes with triggers, if the binlog cannot be read or has no rows.
//
// Three triggers on the source (AFTER INSERT, UPDATE, DELETE) write the key of each row that is
// touched into the log, a table that has nothing else; of an UPDATE that changes the key both keys.
// The application pays that one insert, and waits for nobody because of it.
//
// What stands in the log and can be read is committed, and so is the change: a key is visible as
// soon as it was read (law L3), and no heartbeat is needed for that. But AUTO_INCREMENT numbers are
// not in the order of commits: a transaction that got a lower number may commit later. So nothing
// is passed over by its number:
//
//	numbers    1 2 3 . 5 6 . 8 9 | 10 11 ...
//	           read ^      ^       tail: read at each pass
//	                rest: everything else that was not read, whatever its number
//
// A row is deleted when its key is synced, or left to the row copy, and not before (law L5): what
// is in the log is what another run has yet to do, so that a checkpoint needs no position. It is
// deleted by its whole primary key, or with those that follow it without a gap, at READ COMMITTED:
// that locks rows that nobody else touches, and no gap (see deletions).
//
// A session may write what replicas don't get as a row: with sql_log_bin=0, or in STATEMENT format,
// where they fire the triggers themselves. The deletion of such a row would end their replication.
// So each row tells how its session logs (logged) and on which server its trigger fired (origin, a
// part of the key: a replica may give the same number to another one), and those that replicas lack
// are kept.
//
// Under the lock of the cut-over nobody writes, and the log is read to its end through the session
// that has the lock: LOCK TABLES locks the tables that triggers write to as well, and keeps all
// other sessions away. What stands there uncommitted then is of XA transactions that are prepared;
// the swap waits for them.
//
// Triggers do not see TRUNCATE, other DDL, and what foreign keys do by themselves. The last is for
// the plan to refuse. The others are seen by looking (Look): InnoDB's numbers of the table and of
// the log, and the triggers.
package trigger
