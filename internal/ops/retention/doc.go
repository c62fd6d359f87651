// Package retention drops the tables that changes have put aside, once their time is over and no session reads them.
//
// A Keeper visits its servers in rounds. The time of a table begins when a round first sees it, because the server does
// not show when a table was put aside. A table is dropped if two checks in a row, with time between them, find that
// nothing has read or written it, if no undo needs it, and if its drop will stall no session: it is small, or is
// dropped partition by partition, or the buffer pool has read enough other pages since to have lost the table's.
package retention
