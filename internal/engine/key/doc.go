// Package key encodes the values of a table's key.
//
// A Key is one string that holds the values of all key columns. It comes from a
// row event (FromBinlog) or from a query (FromText over SelectExprs), both give
// the same Key for the same values, and it turns back into SQL literals that carry
// each column's own type and charset (Literals). The encoding of numbers, BIT,
// ENUM, SET, temporal and binary columns keeps their order: bytes compare as the
// server compares the values, reversed for a descending key part. A string with a
// collation is encoded as its bytes, which say nothing of the collation's order;
// Compare answers "unknown" where such a column decides.
//
// Sources: value formats of row events are those that go-mysql v1.16 decodes to;
// the escape encoding of binary strings (0x00 as 0x00 0xFF, end as 0x00 0x01) is the
// usual order-preserving one, as in FoundationDB's tuple layer.
package key
