// Package frontier keeps account of the row copy's ranges: the copied part of the key space, the
// chunks in flight, and the part ahead.
//
//	  copied        in flight           not yet handed out
//	|=========|--chunk 7--|--chunk 8--|.....................
//	                                  ^ frontier
//
// Chunks are handed out in key order, so that the frontier only moves up; they
// finish in any order. From this follows what a changed key has to wait for once
// it is visible (Place), which is the whole of laws L2 and L4 on the copy's side:
//
//   - at or above the frontier: nothing needs to be done, the chunk that will
//     cover it has yet to begin and so will read the change (L4);
//   - inside a chunk in flight: it waits for that chunk, which may have read the
//     row before the change (L2);
//   - below, and in no chunk in flight: it may be synced at once;
//   - not comparable in the client: it waits for every chunk now in flight. A chunk
//     that begins later reads the change, and where it overlaps with the sync in
//     time the row locks of the shadow put the two in an order.
//
// # After a crash
//
// Resume begins with the ranges that a checkpoint claims. What lies between them is
// handed out in key order, and "at or above the frontier" becomes "in a part that was
// not handed out":
//
//	  copied     gap    copied             gap
//	|=========|.......|========|...........................
//	          ^ frontier
//
// NB: a gap is not empty in the shadow. A chunk may have been committed after the
// checkpoint was taken, and the rows that it wrote are stale where they were changed
// since; so a resumed row copy deletes in its ranges before it inserts. Where it can't
// delete by range (the ALTER changes the key), keys ahead must be synced instead of
// dropped: every change that such a row lacks stands behind the checkpoint's position.
package frontier
