// Package desired finds the ALTER that brings a table to the definition that a file wants.
//
// Read takes the CREATE TABLE statements out of files, by their tokens. Find has the server create
// one as an empty, marked table beside the real one, reads both as the server shows them, drops the
// new one and compares: so defaults, charsets, display widths and the names of indexes come out the
// same way on both sides. What it finds is an ordinary ALTER, or a CREATE TABLE that is to be
// executed as it is written, or nothing.
//
// Names alone never decide that a column continues another one. Where columns go and others come,
// each that comes must be in the operator's map, else Find refuses and names the candidates.
//
// Not compared: the next AUTO_INCREMENT value, the order of indexes, the names of CHECK constraints
// (a run can't keep them), whether a column's charset is written down where it is the table's,
// triggers (no CREATE TABLE has any), the KEY_BLOCK_SIZE of an index, which InnoDB passes over, and
// an index that nothing but a foreign key needs. Foreign keys and the options that fix where a
// table is stored are compared, and refused where they differ.
package desired
