// Package speech has what the command lines of other programs have in common: the table of
// options, its page, arguments with passwords, and messages in other words.
package speech
