// Package cutover puts the shadow in the source's place.
//
// One attempt, on servers that can RENAME under LOCK TABLES (MySQL 8.0.13 and later):
//
//	session A   LOCK TABLES source WRITE, shadow WRITE     bounded: withdrawn after the budget
//	            every change of the source is committed now
//	            a heartbeat is written and comes back      everything is received
//	            drain                                      the backlog is empty
//	            RENAME TABLE source TO old, shadow TO source
//	            UNLOCK TABLES
//
// On older servers the RENAME waits in a second session B behind A's lock:
//
//	session A   CREATE TABLE old (a sentinel); LOCK TABLES source, old, shadow WRITE
//	            heartbeat, drain
//	session B   RENAME TABLE source TO old, shadow TO source    waits for the source
//	session A   when B is seen to wait: DROP TABLE old; UNLOCK TABLES
//
// B is first in the source's queue, because names of artefacts sort after the source's. If A dies
// before the DROP, the RENAME fails on the sentinel and nothing has changed. On MariaDB B keeps
// that place only until a backup asks for its lock: see guard.
//
// After the RENAME, foreign keys and triggers need more statements. If A renames by itself, A runs
// them under its one lock. With two sessions, A's lock ends before these statements. So A has
// queued sessions, and each of them joins its queue before A unlocks:
//
//	session C   LOCK TABLES source WRITE, old WRITE     waits behind B: has the new table before the application
//	            settles; UNLOCK TABLES
//
// A rehearsal is session A without the sentinel and without the RENAME, on every server: LOCK
// TABLES, heartbeat, drain, UNLOCK TABLES. It works with underLock, and underLock has no RENAME.
//
// Releasing the lock undoes everything before the RENAME. If the outcome of a RENAME is not known,
// the run waits until its session is gone and then checks the tables. It never tries the RENAME
// again (law L7).
package cutover
