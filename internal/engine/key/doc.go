// Package key encodes the values of a table's key.
//
// A Key is one string that holds the values of all key columns. It comes from a row event
// (FromBinlog) or from a query (FromText over SelectExprs). Both give the same Key for the same
// values. Literals turns it back into SQL literals that carry each column's own type and charset.
//
// The encoding of numbers, BIT, ENUM, SET, temporal and binary columns keeps their order: bytes
// compare as the server compares the values, reversed for a descending key part. A string with a
// collation is encoded as its bytes, which don't show the collation's order; Compare returns
// "unknown" if such a column decides.
//
// Sources: the value formats of row events are the types to which go-mysql v1.16 decodes. The
// escape encoding of binary strings (0x00 as 0x00 0xFF, end as 0x00 0x01) is the usual
// order-preserving one, as in FoundationDB's tuple layer.
package key
