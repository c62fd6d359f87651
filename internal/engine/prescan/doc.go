// Package prescan proves from the data, before the first row is copied, that every row fits the
// shadow, or names the rows that do not.
//
// The server is the judge of values. Range by range the source's rows are inserted into a temporary
// table with the shadow's columns, by the expressions of a sync and in the strict mode of a sync.
// So the copy accepts what the temporary table accepts. Its engine is BLACKHOLE: it converts and
// checks every value and stores none. (Tried on 8.0.12 and 9.7.4; a server without it substitutes
// InnoDB, and the rows are rolled back.) Only columns that may refuse a value are checked, with
// generated columns and CHECKs that are new or changed.
//
// If a range is refused, the prescan narrows it down. For most conversions there is a rule: a
// condition over the source's columns, such as CHAR_LENGTH(`name`) > 40. People can run it, and it
// counts its rows in one query. A rule is believed once the server has refused the first rows that
// it names, each by itself. If there is no rule, or it doesn't explain a row, the prescan halves
// lists of keys. It lists such rows one by one, at most Config.Listed of a kind. Beyond that it
// reports "at least" so many.
//
// One query for each key looks for duplicates, grouped by the values in the shadow's collation. It
// reads an index if the values are not changed; otherwise the server sorts or hashes the complete
// table. While it runs, the server keeps the old versions of rows that change, as for any query of
// that length. If the ALTER converts a value of the key, or the key is over a generated column or
// an expression, the values go range by range into a temporary InnoDB table. The key is then built
// on it.
//
// Nothing here locks a row: every statement is a consistent read of READ COMMITTED. Rows change
// during the prescan. A row that becomes bad after its check stops the copy, as without a prescan.
//
// The server would change some rows without an error (decimals, fractions of a second, blanks at
// the end of a CHAR, times of day). A condition counts them, and the prescan reports them as a
// loss. A loss refuses nothing.
package prescan
