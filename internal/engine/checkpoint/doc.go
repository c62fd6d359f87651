// Package checkpoint keeps the state of a run on the server, in one marked table next to the
// source.
//
// The table has three rows: the heartbeat's, whose changes come back through the binlog,
// the checkpoint's, and that of what the run began with. Its comment is our mark (law L8).
// A checkpoint claims only what is durable (law L5): ranges whose chunks are committed, and
// a binlog position below every change that is not yet in the shadow.
package checkpoint
