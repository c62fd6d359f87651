// Package intake brings the changes of the source to the backlog, whichever way the plan has chosen:
// from the binlog of the source, from that of a replica, or from the log that triggers write.
//
// A Link is how a run reaches them. Start finds the Origin from which a new run reads, Judge that of
// a run that resumes an earlier one, and Open makes the Intake, which reads. An Intake says whether
// what it has read may be relied on (Fit).
//
// Changes may be read from a replica of the source (Config.CaptureFrom), which spares the source
// one reader of its binlog. Heartbeats are written on the source as ever, and come back through the
// replica. The laws hold as they do on the source itself, as long as the replica logs what it
// replicates in the source's order (plan.CaptureFacts.Faults):
//
//   - L1, L3, L4: what the replica has logged stood in the source's binlog before. A heartbeat that is written after it was
//     received stands behind it there, and the source's engine commits in that order.
//   - L6: what stands in the source's binlog before the last heartbeat comes through the replica before it.
//
// A replica that is behind holds back changes, and with them the swap; it never makes a key visible
// too early.
package intake
