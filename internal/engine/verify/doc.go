// Package verify proves that two tables are equal: the shadow and what the ALTER makes
// of the source.
//
// The server compares row by row, in ranges of the key: a join of the two tables returns
// the keys whose rows are missing in the shadow or have another value in any column, and
// two counts tell whether the shadow has rows too many. Values are compared as they are
// stored: strings by their bytes, FLOAT with its sign of zero, JSON by its text. Where the
// ALTER converts a column, the source's rows of the range go into a temporary table of the
// shadow's columns first, by the same INSERT..SELECT that syncs them: there is one
// conversion path, the server's own.
//
// Rows go on changing meanwhile, so a row that differs is only a suspect. A suspect is
// cleared when it is found equal, and is a mismatch when it still differs although every
// change of it is applied: when no change of its key was captured from before its changes
// were all applied until after it was read again. A row that changes too often for that
// stays a suspect, and is compared under the lock of the cut-over.
package verify
