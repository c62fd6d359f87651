// Package verify proves that two tables are equal: the shadow and what the ALTER makes of the
// source.
//
// The server compares row by row, in ranges of the key. A join of the two tables returns the keys
// with rows that are missing in the shadow or have another value in any column. Two counts show
// whether the shadow has rows too many. The server compares values as they are stored: strings by
// their bytes, FLOAT with its sign of zero, JSON by its text. If the ALTER converts a column, the
// source's rows of the range first go into a temporary table with the shadow's columns. They get
// there by the same INSERT..SELECT that syncs them: there is one conversion path, the server's own.
//
// Rows change during the comparison, so a row that differs is only a suspect. A suspect is cleared
// when it is found equal. It is a mismatch if it still differs although every change of it is
// applied. That is proved if capture saw no change of its key in a certain time: from before its
// changes were all applied until after it was read again. A row that changes too often for that
// stays a suspect, and is compared under the lock of the cut-over.
package verify
