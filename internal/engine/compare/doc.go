// Package compare compares the rows of two tables, of one server or of two.
//
// Each server digests its own rows. The client gets a number of rows and two checksums for each
// range, and keys with digests for ranges that differ. A value is digested as text: a number or a
// time as the server writes it, a string in utf8mb4, binary data unchanged. Columns are paired by
// their names.
//
// The tables may change during the comparison, and one may follow the other (a replica). So the
// comparison checks a row that differs repeatedly: it is a mismatch only once it has differed in
// the same way for as long as Config.Settle.
package compare
