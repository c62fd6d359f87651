// Package hook calls programs and URLs of the user at named moments of a run.
//
// A hook gets one JSON document (Document), on its standard input or as the body of a POST, and the
// same in short in environment variables whose names begin with MIDSTREAM_. It may take as long as
// its timeout; a program's whole process group is killed then.
//
// The run waits for the hooks of a moment that begins with before-, while it holds no lock, and
// ends if one of them fails: with an exit code other than 0, a status other than 2xx, or by its
// timeout. All others are called one after the other by a goroutine of their own; one that fails is
// told, and changes nothing. At most queueLength of them wait; what is more is left out, and told.
package hook
