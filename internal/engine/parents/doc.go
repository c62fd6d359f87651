// Package parents proves that each row has its parent by the foreign keys that an ALTER adds.
//
// The shadow has no such key while rows are copied, and the source has none at all: so rows without a parent come and go. The proof
// has three parts, and all of them look at the shadow, which has the columns of the key:
//
//	Scan     looks at each row once, range by range, after the row copy
//	Synced   puts the keys of rows that were synced since the scan began on a list
//	Written  puts what rows of a parent were before they were deleted or changed since then on another list
//
// A row that has no parent under the lock of the swap was looked at by the scan, and had one. So since then either the row was synced, or
// its parent was deleted or changed: it is on one of the lists. Settle looks at what is on them, after a fence: every change that was
// received by then is visible. A row that has no parent is looked at again each time. Prove does the same under the lock, where all
// changes are received and visible: the swap may declare the key if it finds nothing.
//
// The lists are not saved. A run that resumes another one scans again.
package parents
