// Package desired finds the ALTER that brings a table to the definition that a file wants.
//
// Read takes the CREATE TABLE statements out of files, by their tokens. Find makes the server
// create the wanted table, empty and marked, next to the real one. It reads both as the server
// shows them, drops the new one and compares. So defaults, charsets, display widths and the names
// of indexes come out the same way on both sides. Find returns an ordinary ALTER, or a CREATE TABLE
// to be executed unchanged, or nothing.
//
// Names alone never decide that a column continues another one. If columns are dropped and others
// are added, each added column must be in the operator's map. Otherwise Find refuses and names the
// candidates.
//
// Not compared:
//
//   - the next AUTO_INCREMENT value;
//   - the order of indexes;
//   - the names of CHECK constraints (a run can't keep them);
//   - whether a column's charset is written out, if it is the table's;
//   - triggers (no CREATE TABLE has any);
//   - the KEY_BLOCK_SIZE of an index, which InnoDB ignores;
//   - an index that only a foreign key needs.
//
// Foreign keys, and the options that fix where a table is stored, are compared; Find refuses
// differences.
package desired
