// Package closure completes the statements of a group: it adds the ALTERs that foreign keys need.
//
// Both columns of a foreign key must have the same type: the same kind and sign of an integer, the
// same collation of a string. So an ALTER that gives such a column another type needs an ALTER of
// the other column, and that column may belong to other foreign keys. Of follows them all:
//
//	given     columns whose types the given statements decide: MODIFY, CHANGE, CONVERT TO
//	queue     columns whose type is decided; for each of their foreign keys the other column
//	          has the type already, gets it by a MODIFY of its own definition, or cannot have it
//
// A foreign key that a statement drops does not count. An added clause keeps the definition of its
// column apart from the type. It becomes a part of the table's statement, if there is one.
//
// A column that cannot follow is a Problem: two foreign keys want two types of it, a statement gives
// it another type, it is generated, or its table has partitions.
//
// The package reads tokens and asks no server: the caller loads tables, and knows the default
// collation of a character set.
package closure
