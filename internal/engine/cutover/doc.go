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
// B is first in the source's queue, since names of artefacts sort after the source's; if A dies
// before the DROP, the RENAME fails on the sentinel and nothing has changed. On MariaDB that place
// is B's only as long as no backup asks for its lock: see guard.
//
// What is left to do of foreign keys and triggers after the RENAME is done under the one lock that
// A has where it renames by itself. With two sessions A's lock ends before it, and has queued sessions, which
// stand in the queues before A lets go:
//
//	session C   LOCK TABLES source WRITE, old WRITE     waits behind B: has the new table before anybody of the application
//	            settles; UNLOCK TABLES
//
// A rehearsal is session A without the sentinel and without the RENAME, on every server: LOCK
// TABLES, heartbeat, drain, UNLOCK TABLES. It works with underLock, which has no RENAME.
//
// Everything before the RENAME can be taken back by releasing the lock. A RENAME whose outcome is
// not known is resolved by looking at the tables once its session is gone, never by trying again
// (law L7).
package cutover
