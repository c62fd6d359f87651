// Package rowsync is the primitive of the engine: sync(P), which makes the shadow's rows that
// satisfy P equal to the source's rows that satisfy P.
//
//	DELETE FROM shadow WHERE P
//	INSERT INTO shadow (columns) SELECT expressions FROM source WHERE P
//	COMMIT
//
// If the key is the shadow's only unique key, and the source has a row for every key of a list,
// sync overwrites the rows instead. (INSERT .. ON DUPLICATE KEY UPDATE of all columns.) The result
// is the same, and the server has less work.
//
// P is a range of keys (a chunk) or a list of keys (apply). Row copy, apply and the drain under the
// lock all use this package. So there is one conversion path, the server's own. Rows never come to
// the client.
//
// P must select the same rows on both sides. A list of keys does so if the key's columns have the
// same type, charset and collation in source and shadow. If they differ, a list does so through
// KeyTables. A range does so only if they are the same. If they differ, a range may only be synced
// while it is Fresh, when there is nothing to delete.
//
// If the shadow reports a duplicate on a unique key, sync first assumes a stale row, and tries
// again while no other sync runs. Then it depends on the key:
//
//   - The source enforces the key too. Then the shadow's row is certainly stale: it had the value when
//     it was synced, and has lost it since, by a change that is yet to be applied. Sync deletes the
//     row, and its own change will bring it back.
//   - The key is new. Then sync asks the source whether that row still has the value. If it does, the
//     error is ErrDuplicate, with both rows. If not, the row is stale, and sync deletes it.
//   - The row can't be found by its value, or has another key in the shadow. Then sync deletes every
//     row with a change that is yet to be applied. A duplicate that remains is ErrDuplicate
//     (design.md, decision 3).
//
// Columns that only the shadow has may keep their values (law U5): see Spec.Kept and Moves.
package rowsync
