// Package intake brings the changes of the source to the backlog, as the plan has
// chosen: from the source's binlog, a replica's binlog, or the log that triggers write.
//
// A run reaches its changes through a Link. Start finds the Origin from which a new run reads.
// Judge finds the Origin of a run that resumes an earlier one. Open makes the Intake, and the
// Intake reads. Fit reports whether the changes that it has read can be relied on.
//
// Changes may be read from a replica of the source (Config.CaptureFrom): that saves the source one
// reader of its binlog. Heartbeats are still written on the source, and come back through the
// replica. The laws hold as they do on the source itself, if the replica logs the changes that it
// replicates in the source's order (plan.CaptureFacts.Faults):
//
//   - L1, L3, L4: everything that the replica has logged was in the source's binlog before. A heartbeat
//     that is written after it was received comes after it there, and the source's engine commits in
//     that order.
//   - L6: everything before the last heartbeat in the source's binlog comes through the replica before
//     that heartbeat.
//
// A replica that is behind delays changes, and so the swap; it never makes a key visible too early.
package intake
