// Package checkpoint keeps the state of a run on the server, in one marked table next to the
// source.
//
// The table has three rows: the heartbeat, the checkpoint, and the start of the run. Changes of the
// heartbeat's row come back through the binlog. The table's comment is our mark (law L8). A
// checkpoint claims only durable things (law L5): ranges with committed chunks, and a binlog
// position below every change that is not yet in the shadow.
package checkpoint
