// Package capture reads the binlog into the backlog and knows what is visible.
//
// A change can be read from the binlog before a query sees it, and neither the
// binlog's position nor gtid_executed tells when it can be seen. A heartbeat does: on
// a server that commits in binlog order (binlog_order_commits=ON) a transaction of
// ours that begins after a change was received stands behind it in the binlog, so
// that once our COMMIT has returned every change received before is visible:
//
//	received   ...a b c|           |d e
//	heartbeat          UPDATE......COMMIT returned: a, b, c are visible
//
// The order is: seal the backlog's open segment, write the heartbeat, reveal the
// segment. What was received up to the seal is the visible position (laws L3, L4). It
// does not wait for the heartbeat to come back, so that a transaction of any size
// can't fill the backlog with keys that can't become visible.
//
// Heartbeats that do come back measure the capture delay, and prove under the lock of
// the cut-over that every change has been received (law L6).
//
// Where heartbeats are kept out of the binlog (Deps.End) they are no fence: whoever syncs waits
// for rows that are not visible yet by reading them with FOR SHARE, and that all was received is
// known by the binlog's end.
//
// Rows of an XA transaction stand in the binlog at XA PREPARE but become visible at XA
// COMMIT, a later event without rows: their keys are kept until then (law L3), and the
// safe position stays before XA PREPARE until they are synced (law L5). The lock of the
// cut-over does not stand in for a heartbeat there, as XA COMMIT may not need it.
package capture
