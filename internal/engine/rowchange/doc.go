// Package rowchange carries out a DELETE or an UPDATE of many rows of one table in short transactions.
//
// The rows are walked once, in the order of a unique key. For each chunk, a query that locks nothing finds the keys of the next rows
// that meet the condition. Then one transaction changes these rows, if they still meet it, and moves the frontier in the state table:
//
//	range -> keys (a consistent read) -> [BEGIN, copy to the archive, DELETE or UPDATE by keys and condition, checkpoint, COMMIT]
//
// The checkpoint is a part of the transaction. So after a kill, or after a COMMIT whose answer is lost, the state table shows whether the
// chunk was committed, and each row is changed once (law L5).
package rowchange
