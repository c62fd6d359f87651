// Package park holds what becomes, in an undo, of the rows that the old table refuses: they are listed with the server's
// reason, or copied to a table of their own.
package park
