// Package failure has the errors that end a run, and what follows from them: whether the work is kept, whether another
// attempt or another method may succeed, and what a user does next.
//
//	classes.go  the errors of a run, and the classes by which it decides
//	failure.go  Failure: what failed, what is left on the server, what to do
//
// An error is never matched by its text: servers give numbers (dbconn), and stages give errors of their own.
package failure
