// Package shadow makes the table that will take the source's place: created like the source,
// altered as asked, and marked as ours until shortly before the swap.
//
// Secondary indexes can be left for later. An index that is built after the copy is built sorted,
// in a fraction of the time that its maintenance row by row takes. One ALTER builds it and lets
// apply continue (INPLACE, LOCK=NONE).
package shadow
