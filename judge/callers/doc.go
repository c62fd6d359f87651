// Package callers runs the programs that call a schema change tool, as their users do, with midstream
// in its place: each makes one change of a table that a ledger writes to. It does so twice. The second
// time it gets SIGTERM in the middle of the row copy, and then the next step of docs/callers.md follows.
//
// Skeema, golang-migrate, goose, Django, Alembic and Liquibase are the real programs. Their registries
// have them, and they are installed once, into midstream/callers of the user's cache folder. Rails and
// Laravel packages are in no registry that the tests can reach. So their command lines are replayed to
// the letter, with what they look for in the output, from their sources (replay.go).
//
// A case holds if the table has its new column, every row is as the ledger knows it, and the caller
// believes that the change is done.
package callers
