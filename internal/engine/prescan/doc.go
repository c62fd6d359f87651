// Package prescan proves from the data, before the first row is copied, that every row fits the
// shadow, or names the rows that do not.
//
// The server is the judge of values. Range by range the source's rows are inserted into a
// temporary table of the shadow's columns, by the expressions of a sync and in the strict mode
// of a sync: what it takes there it takes in the copy. The table's engine is BLACKHOLE, which
// converts and checks every value and stores none (tried on 8.0.12 and 9.7.4; a server without
// it substitutes InnoDB, and what that stores is rolled back). Only columns that may refuse a
// value are looked at, besides generated columns and CHECKs that are new or changed.
//
// A range that is refused is narrowed down. For most conversions there is a rule: a condition
// over the source's columns, such as CHAR_LENGTH(`name`) > 40, that people can run and that
// counts its rows in one query. A rule is believed once the server has refused the first rows
// that it names, each by itself. What a rule doesn't explain, or where there is none, is found
// by halving lists of keys: such rows are listed one by one, Config.Listed of a kind at most,
// and are then "at least" so many.
//
// Duplicates are looked for in one query a key, grouped by the values in the shadow's
// collation. It reads an index where the values are not changed; else the server sorts or hashes
// the whole table. While it runs, the server keeps the old versions of rows that change, as for
// any query of that length. Where the ALTER converts a value of the key, or the key is over a
// generated column or an expression, the values go range by range into a temporary InnoDB
// table, on which the key is then built.
//
// Nothing here locks a row: every statement is a consistent read of READ COMMITTED. Rows change
// meanwhile; a row that becomes bad after it was looked at stops the copy, as without a prescan.
//
// Rows that the server would change without an error (decimals, fractions of a second, blanks at
// the end of a CHAR, times of day) are counted by a condition and told as a loss that refuses
// nothing.
package prescan
