// Package sim runs the engine's decisions against a model of the world, one step at a
// time, and holds the laws of the design against it after every step. It is for tests
// only.
//
// Real are: frontier.Tracker (also as Resume makes it), backlog.Backlog, capture.Capture
// (Handle, Beat, Fence, RevealAll, Safe), key.Codec, and checkpoint.Checkpoint
// with its JSON. Modelled is what they stand between:
//
//	application ──> source ──> binlog ──reader──> capture ──> backlog ──> apply ─┐
//	                  │           ^                  │           ^               │
//	                  │           └── heartbeats ────┘           │ Place         │
//	                  │                                       tracker            v
//	                  └──────────────── row copy ────────────────┴──────────> shadow
//
// # The model
//
// The source is a row for each key, with up to three columns that have unique values.
// A transaction stands in the binlog first. The engine commits it at a later step, in
// the order of the binlog; only then do consistent reads see it and its row locks go.
// Rows of an XA transaction stand at XA PREPARE and become visible at XA COMMIT.
//
// A sync is the statements of rowsync, which are spread over many steps: DELETE waits
// for row locks, INSERT..SELECT takes its read view in one step and writes its rows in
// later ones, waits for locks and meets duplicates; COMMIT goes through the binlog as
// all do. Deadlocks, timeouts, tries, the sync that runs alone and takes stale rows
// along follow package rowsync, as do rowcopy, apply, migration and cutover what their
// names say. These parts can't be driven themselves: they are made of SQL.
//
// The key is one of eight kinds: integers and binary strings, which the client orders
// as the server does, and strings in a collation without letter case, which it can't
// compare; ascending and descending, alone and together. With KeyChanged the shadow
// has another order, and tells letter case apart.
//
// A crash may come at any step. It throws away all that the run had in memory; of what
// was on its way to the server a part is carried out later, a part never, and the locks
// of its transactions stay for a while. The next run resumes from the checkpoint that
// is on the server, or begins anew if there is none.
//
// Each process is a coroutine (iter.Pull), and a seeded scheduler says who goes on:
// there is no parallelism, no clock and no order of a map in it, so that a seed always
// gives the same run. Options come from the seed as well.
//
// # The laws
//
//   - L1 is the order of the start in story; that it suffices shows in the others.
//   - L2, lawOverlap: no two syncs run that overlap, but for those that the design
//     leaves to the row locks; lawChunk: no range is handed out twice.
//   - L3, ledger.reveal: what is revealed is visible; nothing else is taken.
//   - L4, ledger.reveal: what is dropped is visible, and no chunk with it has begun.
//   - L5, lawResumable, for the checkpoint on the server and for one that were taken
//     now: of every row in a range that is claimed, each change which the shadow lacks
//     stands behind the position. Position and oldest segment never go back.
//   - L6, lawSwap: under the lock, with all received and drained, the shadow is the
//     source.
//   - nothing is lost, lawNothingLost: wherever the shadow is not the source, something
//     is on its way that will make it so: the change is unread, or its key is held by
//     the backlog, or a sync that will read it is under way.
//   - decision 3: no stale row is taken for a duplicate, as there are none.
//   - bounded memory, no starvation, progress: a run ends once the application is quiet.
//
// More than CI's steps:
//
//	go test ./internal/lab/sim -run TestSimulation -sim.total=100000000 -sim.first=1000 -timeout 1h
//
// That the laws can be broken is proved by TestDefectsAreFound, which builds mistakes
// into the world.
//
// # Not modelled
//
// Servers that commit in another order than that of the binlog (FOR SHARE); values and
// their conversion; the swap itself and its unknown outcome (L7); statements and DDL in
// the binlog; purged binlogs; a second run beside the first; verify and repair. Memory
// of capture for a transaction whose end it has not seen is not counted.
package sim
