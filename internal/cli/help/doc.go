// Package help lays out what midstream explains of itself: the program, its verbs, its topics, and the
// flags of a verb in groups.
//
//	help.txt        the texts of verbs and topics, a section each
//	help_verbs.txt  the groups of the verbs
//	help_flags.txt  the groups of the flags
//
// Widths are in columns. No function fails, and none asks a server.
package help
