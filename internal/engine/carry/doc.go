// Package carry moves the foreign keys and triggers of a table to the table that takes its place.
//
// A RENAME takes foreign keys and triggers along with their table: those of the source stay with
// the old table, and foreign keys that refer to the source refer to the old table afterwards. A
// name of a constraint, or of a trigger, is given once in a database. So there are two of each for
// a moment, and three steps:
//
//	Declare   t_shadow gets the source's constraints, each child a second one, on t_shadow,
//	          under names of ours; t_shadow gets a stand-in for each trigger
//	          RENAME t TO t_old, t_shadow TO t
//	Settle    t_old loses its constraints and triggers, and the children those on it; the others
//	          get the names of the former, and t gets the triggers in place of the stand-ins
//	Withdraw  takes back what Declare did, if there was no RENAME
//
// Settle and Withdraw go by what there is, so that they can be given again as often as needed, by
// any run. An attempt of the swap carries them out under its lock (cutover); leftovers.Fixer does
// so outside of it, if that lock was lost.
//
// # Foreign keys
//
// All of it happens under one lock of the tables on both ends of the constraints, with
// foreign_key_checks=0: nothing is read, as the source has kept the constraints, and the shadow
// equals it. Wherever the lock is lost, every row of t and of its children is held to at least the
// constraints that there were: nothing is dropped before its successor is there. What may be left
// then is a constraint too many, which refuses rows that it should not (a child of a parent that
// t_old, or the shadow, lacks).
//
// A constraint that changes rows of the source without a trace in the binlog is on the shadow from
// the beginning, and acts there by the parent's own transaction (ActOnShadow). The syncs lock the
// source's rows while they read them, so that a row is synced before or after such a change, and
// never in between. Declare replaces it by its successor in one statement.
//
// An index that the server has made for a constraint gives way to one that it makes for a second
// constraint on the same columns, which is built again (0.24 s for 200,000 rows, 9.7.4). An index
// that was renamed is the user's own. So the statement that adds the second constraint also renames
// the index to that constraint's name, and it is renamed back later: nothing is built (4 ms).
//
// # Triggers
//
// No statement renames a trigger. So each has a stand-in for a moment, under a name of ours, that
// does the same as long as the trigger itself is not on the table:
//
//	Declare   the stand-ins on t_shadow: IF NOT EXISTS (.. the trigger on t ..) THEN its body END IF
//	          RENAME t TO t_old, t_shadow TO t
//	Settle    t_old loses its triggers, and t gets them one by one, each in front of its
//	          stand-in, which goes then
//
// Wherever the session is lost, a row that is written fires each trigger once, in their order: up
// to the RENAME the triggers of the source, then the stand-ins. A stand-in falls silent by the very
// statement that creates its trigger. On the shadow stand-ins are silent until the RENAME.
//
// MySQL 8.0 and later read information_schema by the read view of the transaction. A transaction
// that is older than the RENAME still finds the trigger on t, but its time of creation shows that
// it is the former one. A transaction that is older than the new trigger, and first uses t after
// the trigger was created and before its stand-in went, fires both: so Settle is for a session that
// has locked t, and this can only happen if that session is lost between just these two statements.
package carry
