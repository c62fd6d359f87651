// Package binlog reads the binlog of a server and hands out, in order, the events that the engine
// needs: touched keys, ends of transactions, and statements.
// It is the only
// importer of go-mysql.
//
//	server ── packets ── stream ──┬─ header, position, checksum
//	                              ├─ payload   a compressed transaction, event by event
//	                              ├─ table     table map -> where the watched columns stand
//	                              ├─ image     row images -> the watched columns' bytes
//	                              ├─ values    those bytes -> Go values (go-mysql)
//	                              └─ query     what a statement means for its group
//
// Nothing but watched columns is decoded. A row event of another table costs a look
// at its table id; in a watched table's image the other columns are stepped over by
// their lengths, whatever their types. FULL, MINIMAL and NOBLOB images, partial JSON
// updates, compressed transactions and tagged GTIDs may follow each other in any
// order, as sessions switch them as they like.
//
// # Groups
//
// Events come in groups: a transaction, or a statement of its own. A group ends with
// one Commit, XAPrepared or XAResolved. Run starts at such an End (or at a position
// that the server itself tells) and never in the middle of a group: row events need
// the table map before them, and one that lacks it is an error.
//
// # Backpressure
//
// Run calls the handler and reads on when it returns: nothing is queued but what the
// sockets hold. The server gives up on a reader that takes nothing for ten minutes.
//
// # Why not replication.BinlogSyncer
//
// The protocol loop is ours, over go-mysql's connection (client) and value decoder
// (RowsEvent.DecodeData). BinlogSyncer holds a compressed transaction decompressed in
// memory as a whole and drops, without an error, what lies beyond 4 GiB of it; copies
// every packet into a buffer of its own; logs; and ends by dialling once more with no
// context, for a KILL. Here, closing resets the connection, and the server, which sends
// a heartbeat every half second, drops its dump thread within that time.
package binlog
