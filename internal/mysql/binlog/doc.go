// Package binlog reads the binlog of a server and hands out, in order, the events that the engine
// needs: touched keys, ends of transactions, and statements. It is the only importer of go-mysql.
//
//	server ── packets ── stream ──┬─ header, position, checksum
//	                              ├─ payload   a compressed transaction, event by event
//	                              ├─ table     table map -> where the watched columns are
//	                              ├─ image     row images -> the watched columns' bytes
//	                              ├─ values    those bytes -> Go values (go-mysql)
//	                              └─ query     what a statement means for its group
//
// The reader decodes only watched columns. For a row event of another table it reads only the table
// id. In a watched table's image it steps over the other columns by their lengths, for any type.
// FULL, MINIMAL and NOBLOB images, partial JSON updates, compressed transactions and tagged GTIDs
// may follow each other in any order, because sessions can switch them.
//
// # Groups
//
// Events come in groups: a transaction, or a statement of its own. A group ends with one Commit,
// XAPrepared or XAResolved. Run starts at such an End (or at a position that the server itself
// reports) and never in the middle of a group. Row events need the table map before them, and a row
// event without it is an error.
//
// # Backpressure
//
// Run calls the handler and reads on when it returns: only the sockets hold a queue. The server
// gives up on a reader that takes nothing for ten minutes.
//
// # Why not replication.BinlogSyncer
//
// The protocol loop is ours, over go-mysql's connection (client) and value decoder
// (RowsEvent.DecodeData). BinlogSyncer holds a compressed transaction decompressed in memory, all
// of it, and drops everything beyond 4 GiB of it without an error. It copies every packet into a
// buffer of its own. It logs. And it ends by dialling once more with no context, for a KILL. Here,
// closing resets the connection. The server sends a heartbeat every half second, so it drops its
// dump thread within that time.
package binlog
