// Package compare compares the rows of two tables, of one server or of two.
//
// Rows are digested by the server that has them; what comes to the client is a number of
// rows and two checksums a range, and keys with digests of those ranges that differ. A
// value is digested as text: a number or a time as the server writes it, a string in
// utf8mb4, what is binary as it is. Columns go by their names.
//
// The tables may change meanwhile, and one may follow the other (a replica). A row that
// differs is therefore looked at again and again: it is a mismatch only once it differs in
// the same way for as long as Config.Settle.
package compare
