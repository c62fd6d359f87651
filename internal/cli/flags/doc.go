// Package flags reads the flags of a verb, from the command line and from option files.
//
// A value is checked as it is read, and what is wrong is kept: a verb prints all of it at once, before it connects.
// A problem names the flag, its value without a password, and the allowed range, or the place in the option file.
package flags
