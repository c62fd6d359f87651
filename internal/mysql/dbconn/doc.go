// Package dbconn opens connections to the server and is the only importer of the SQL driver.
//
// A Pool serves short queries. A Session is one pinned connection, for statements that must run on
// the same connection (a sync, a lock). The context of a session's statement also has an effect on
// the server. When the context ends, KILL QUERY withdraws the statement, from a connection that was
// opened beforehand. If we only closed our socket, a lock request would stay in the server's queue
// for up to lock_wait_timeout (design.md, decision 5).
//
// The numbers of server errors are used in errors.go and nowhere else.
package dbconn
