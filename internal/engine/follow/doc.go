// Package follow is what an undo does while it is held: it follows the table, so that the old table is equal but for the
// last changes, and the way back is one bounded lock.
//
// A follower differs from a held run in four ways. A row that changes often is synced about once a minute. Rows that the
// old definition refuses do not end it: a release is refused before the lock, and it follows on. A release does not wait
// for a comparison. And it ends when the time of the undo is over.
package follow
