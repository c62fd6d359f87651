// Package capture reads the binlog into the backlog and knows what is visible.
//
// A change can be read from the binlog before a query sees it. Neither the binlog's position nor
// gtid_executed shows when a query can see it. A heartbeat does, on a server that commits in binlog
// order (binlog_order_commits=ON). Take a transaction of ours that begins after a change was
// received: it comes after that change in the binlog. Once our COMMIT has returned, every change
// received before is visible:
//
//	received   ...a b c|           |d e
//	heartbeat          UPDATE......COMMIT returned: a, b, c are visible
//
// The order is: seal the backlog's open segment, write the heartbeat, reveal the segment. The
// visible position is the place of the seal: everything before it was received (laws L3, L4).
// Reveal does not wait for the heartbeat to come back. So a transaction of any size can't fill the
// backlog with keys that can't become visible.
//
// Heartbeats that do come back measure the capture delay. Under the lock of the cut-over they prove
// that every change has been received (law L6).
//
// If heartbeats are kept out of the binlog (Deps.End), they are no fence. Then a session that syncs
// waits for rows that are not visible yet: it reads them with FOR SHARE. The binlog's end proves
// that everything was received.
//
// Rows of an XA transaction are in the binlog at XA PREPARE. They become visible at XA COMMIT, a
// later event without rows. Capture keeps their keys until then (law L3). The safe position stays
// before XA PREPARE until they are synced (law L5). The lock of the cut-over does not replace a
// heartbeat there, because XA COMMIT may not need the lock.
//
// If the shadow keeps columns that the source lacks, capture also hands out, in the order of commits,
// the keys before and after each UPDATE that changes a key (Deps.Moves, law U5). The safe position
// stays before those that are not carried.
package capture
