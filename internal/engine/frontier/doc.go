// Package frontier keeps account of the row copy's ranges: the copied part of the key space, the
// chunks in flight, and the part ahead.
//
//	  copied        in flight           not yet handed out
//	|=========|--chunk 7--|--chunk 8--|.....................
//	                                  ^ frontier
//
// Chunks are handed out in key order, so the frontier only moves up; they finish in any order. From
// this follows what a changed key has to wait for once it is visible (Place). These rules are laws
// L2 and L4 on the copy's side:
//
//   - at or above the frontier: nothing needs to be done. The chunk that will cover the key has yet to
//     begin, so it will read the change (L4);
//   - inside a chunk in flight: the key waits for that chunk, because it may have read the row before
//     the change (L2);
//   - below, and in no chunk in flight: the key may be synced at once;
//   - not comparable in the client: the key waits for every chunk now in flight. A chunk that begins
//     later reads the change. If it overlaps with the sync in time, the row locks of the shadow put
//     the two in an order.
//
// # After a crash
//
// Resume begins with the ranges that a checkpoint claims. The parts between them are handed out in
// key order, and "at or above the frontier" becomes "in a part that was not handed out":
//
//	  copied     gap    copied             gap
//	|=========|.......|========|...........................
//	          ^ frontier
//
// NB: a gap is not empty in the shadow. A chunk may have been committed after the checkpoint was
// taken. Its rows are stale if they were changed since. So a resumed row copy deletes in its ranges
// before it inserts. If it can't delete by range (the ALTER changes the key), keys ahead must be
// synced instead of dropped: every change that such a row lacks is behind the checkpoint's
// position.
package frontier
