// Package dbconn opens connections to the server and is the only importer of the
// SQL driver.
//
// A Pool serves short queries; a Session is one pinned connection for statements
// whose place matters (a sync, a lock). A session's statement is bound by its
// context in a way that the server notices too: when the context ends, the
// statement is withdrawn by KILL QUERY from a connection that was opened
// beforehand. Closing our socket alone would leave a lock request in the server's
// queue for up to lock_wait_timeout (design.md, decision 5).
//
// Server errors are told apart by their numbers, in errors.go and nowhere else.
package dbconn
