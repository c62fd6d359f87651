// Package usertrigger knows which statements move the triggers of a table to the table that takes
// its place.
// It runs none.
//
// A RENAME takes triggers along with their table, a name of a trigger is given once in a database, and
// no statement renames one. So each has a stand-in for a moment, under a name of ours, that does the
// same as long as the trigger itself is not on the table:
//
//	Declare   the stand-ins on t_shadow: IF NOT EXISTS (.. the trigger on t ..) THEN its body END IF
//	          RENAME t TO t_old, t_shadow TO t
//	Settle    t_old loses its triggers, and t gets them one by one, each in front of its
//	          stand-in, which goes then
//
// Whatever of it has happened when the session is lost, a row that is written fires each trigger once, in
// their order: up to the RENAME those of the source, then the stand-ins, and each of these falls silent
// by the very statement that creates its trigger. On the shadow they are silent for all the time
// before the RENAME. Settle, and Withdraw before the RENAME, go by what there is, so that they can be
// given again as often as needed, by whomever.
//
// MySQL 8.0 and later read information_schema by the read view of the transaction. One that is older than
// the RENAME finds the trigger on t still, but known by its time of creation as the former one.
// One that is older than the new trigger, and first uses t after it was created and before its
// stand-in went, fires both: Settle is therefore for a session that has locked t, and only if
// that session is lost between just these two statements this can happen.
package usertrigger
