// Package speech is what the command lines of other programs that are taken have in common: what
// becomes of an option, the page that lists them, the command line's arguments with passwords in
// them, and what a closed gate says in a form that can be told in other words.
package speech
