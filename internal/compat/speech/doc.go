// Package speech has what the command lines of other programs have in common: the table of
// options, its page, arguments with passwords, messages in other words, and the steps of a run.
package speech
