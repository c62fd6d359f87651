// Package ledger writes to one table the way an application does, over several
// connections, and remembers what every committed transaction left behind. In the
// end the table must equal the ledger, row by row and column by column.
//
// It runs before, during and after a schema change, and knows nothing of it: its
// statements name their columns, so the table may gain columns, lose one that the
// ledger does not know (Profile.Extra), and be swapped by RENAME at any moment.
// The package opens no connection and knows no SQL driver; it takes a *sql.DB.
//
// # What is remembered
//
// A Slot is the ledger's own name of a key value. All that a row holds follows from
// few numbers: its slot, the spelling of its key, the id of each unique value, and
// two nonces, from which the plain and the wide columns are made (Profile, Column).
// A row that was seeded and never touched follows from the slot alone, so only
// touched blocks of slots take memory: 27 bytes a slot, 27 MB if each of a million
// rows was touched. A tool that reports its own memory runs the ledger in another
// process, or says that the ledger is in the figure.
//
// # Why the ledger is exact
//
// Slots are handed out to writers in blocks, and unique values belong to the writer
// of the slot of the same number. So a writer knows all of its rows before it writes,
// no lock in this process stands between two writers, and whatever the server answers
// differently (rows affected, a duplicate) is a failure at once, not only in the end:
//
//	slots    0..255    256..511   512..767   768..1023 ...
//	owner    writer 0  writer 1   hot        held      ...
//
// Hot rows are shared by all writers; they collide, wait and deadlock in the server.
// A transaction takes its place in their order after its last statement and before
// COMMIT, while it holds the locks of all rows that it wrote: of two transactions that
// wrote the same row the one with the later place has committed later, whichever
// answer came first.
//
// A COMMIT (or a statement that commits by itself) whose answer got lost is resolved
// by looking: the session is killed and gone before the rows are read back. A hot
// transaction always writes a row of its own too, which tells what became of it.
//
// Held blocks belong to nobody's random writes; a test forces its own transactions
// on them (Begin, Do) while the writers run.
package ledger
