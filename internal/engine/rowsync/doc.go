// Package rowsync is the primitive of the engine: sync(P), which makes the shadow's
// rows that satisfy P equal to the source's rows that satisfy P.
//
//	DELETE FROM shadow WHERE P
//	INSERT INTO shadow (columns) SELECT expressions FROM source WHERE P
//	COMMIT
//
// Where the key is the shadow's only unique key and the source has a row for every key of
// a list, the rows are overwritten instead (INSERT .. ON DUPLICATE KEY UPDATE of all
// columns): the same rows, for less.
//
// P is a range of keys (a chunk) or a list of keys (apply). Row copy, apply and the
// drain under the lock all go through here, so that there is one conversion path,
// the server's own. Rows never come to the client.
//
// P must select the same rows on both sides. A list of keys does where the key's
// columns have the same type, charset and collation in source and shadow, and
// through KeyTables where they have not. A range does only in the first case; in the
// second a range may only be synced while it is Fresh, when there is nothing to
// delete.
//
// A duplicate on a unique key of the shadow is taken for a stale row first, and the sync
// is tried again while no other sync runs. Where the source enforces the key too, the
// row in the way is stale for certain: it had the value when it was synced, and has
// lost it since by a change that is yet to be applied. It is deleted, its own change
// will bring it back. Where the key is new, the source is asked whether the row in the way
// still has the value: if so it is ErrDuplicate, which names both rows; if not the row is
// stale and deleted. Where the row can't be found by its value, or has another key in the
// shadow, every row is deleted whose change is yet to be applied, and a duplicate that then
// remains is ErrDuplicate (design.md, decision 3).
package rowsync
