// Package carry moves the foreign keys and triggers of a table to the table that takes its place.
//
// A RENAME takes foreign keys and triggers along with their table. The source's own stay with the
// old table, and foreign keys that refer to the source refer to the old table afterwards. A name of
// a constraint, or of a trigger, can be used once in a database. So for a moment there are two of
// each, and three steps:
//
//	Declare   t_shadow gets the source's constraints, each child a second one, on t_shadow,
//	          under names of ours; t_shadow gets a stand-in for each trigger
//	          RENAME t TO t_old, t_shadow TO t
//	Settle    t_old loses its constraints and triggers, and the children lose their constraints on
//	          t_old; the new ones get the former names, and t gets the triggers in place of the
//	          stand-ins
//	Withdraw  takes back what Declare did, if there was no RENAME
//
// Settle and Withdraw read the present state, so any run can repeat them as often as needed. An
// attempt of the swap runs them under its lock (cutover). If that lock was lost, leftovers.Fixer
// runs them outside of it.
//
// # Foreign keys
//
// All of it happens under one lock of the tables on both ends of the constraints, with
// foreign_key_checks=0. The server reads no rows, because the source has kept the constraints, and
// the shadow equals it. No constraint is dropped before its successor exists. So wherever the lock
// is lost, every row of t and of its children still obeys at least the former constraints. What may
// be left is a constraint too many. It refuses rows that it should not refuse (a child of a parent
// that t_old, or the shadow, lacks).
//
// A constraint that changes rows of the source without a trace in the binlog is on the shadow from
// the beginning. It acts there in the parent's own transaction (ActOnShadow). The syncs lock the
// source's rows while they read them. So a row is synced before or after such a change, and never
// in between. Declare replaces the constraint by its successor in one statement.
//
// The server may have made an index for a constraint. Such an index gives way to the index for a
// second constraint on the same columns, and that one is built again (0.24 s for 200,000 rows,
// 9.7.4). An index that was renamed counts as the user's own. So the statement that adds the second
// constraint also renames the index to that constraint's name. A later statement renames it back:
// nothing is built (4 ms).
//
// # Triggers
//
// No statement renames a trigger. So each has a stand-in for a moment, under a name of ours. It
// does the same as the trigger, as long as the trigger itself is not on the table:
//
//	Declare   the stand-ins on t_shadow: IF NOT EXISTS (.. the trigger on t ..) THEN its body END IF
//	          RENAME t TO t_old, t_shadow TO t
//	Settle    t_old loses its triggers, and t gets them one by one, each in front of its
//	          stand-in, which goes then
//
// Wherever the session is lost, a row that is written fires each trigger once, in their order. Up
// to the RENAME the triggers of the source fire, then the stand-ins. The statement that creates a
// trigger also silences its stand-in. On the shadow, stand-ins are silent until the RENAME.
//
// MySQL 8.0 and later read information_schema by the read view of the transaction. A transaction
// that is older than the RENAME still finds the trigger on t, but its time of creation shows that
// it is the former one. A transaction may be older than the new trigger, and first use t after the
// trigger was created and before its stand-in went. Then it fires both. So Settle is for a session
// that has locked t, and both can only fire if that session is lost between just these two
// statements.
package carry
